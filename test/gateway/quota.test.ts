import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dayNumberOf } from '../../gateway/limits/windows.ts';
import type { RedisClient } from '../../gateway/platform/redis/redis-client.ts';
import { redisKeys, type CustomerId } from '../../gateway/platform/redis/redis-keys.ts';
import { readUsageDays } from '../../gateway/quota/usage.ts';
import { send } from '../support/http/http.ts';
import { connectRedis, keyIssuer } from '../support/kits/keys.ts';
import { startGateway, type Service } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

describe('quotas of three gateways on one redis-server', { tags: ['redis-server'] }, () => {
  let redis: RedisClient;
  let gateways: Service[];

  const server = shared(startRedisServer);
  const upstream = shared(startUpstream);
  beforeAll(async () => {
    const env = { REDIS_URL: server.url, PETS_SERVICE_URL: upstream.url };
    gateways = await Promise.all([startGateway(env), startGateway(env), startGateway(env)]);
    redis = await connectRedis(server.url);
  });

  afterAll(async () => {
    redis.disconnect();
    await Promise.all(gateways.map((gateway) => gateway[Symbol.asyncDispose]()));
  });

  const pets = (index: number) => `${gateways[index % gateways.length]?.url}/v1/pets`;
  /** Sum of all days, because the test may run across midnight. */
  const dayCount = async (customerId: CustomerId) => {
    const today = dayNumberOf(Date.now());
    const days = await readUsageDays(redis, customerId, { first: today - 1, last: today, oldest: 0 });
    return days.reduce((sum, { served }) => sum + served, 0);
  };

  test('of 2,000 concurrent requests with a Free key exactly 60 are served and counted', async () => {
    const { key, customerId } = await keyIssuer(redis).issue();
    const responses = await Promise.all(
      Array.from({ length: 2000 }, (_, index) => send(pets(index), { key })),
    );
    const count = (status: number) => responses.filter((response) => response.status === status).length;
    expect({ served: count(200), refused: count(429) }).toEqual({ served: 60, refused: 1940 });
    expect(await dayCount(customerId)).toBe(60);
    expect(await redis.get(redisKeys.openWindow(customerId, 'minute'))).toBe('60');
    const remaining = responses
      .filter(({ status }) => status === 200)
      .map((response) => Number(response.header('X-RateLimit-Remaining')));
    expect(remaining.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, index) => index));
  });

  test('a new plan or limit of a customer applies to its next request on all gateways', async () => {
    const { key, customerId } = await keyIssuer(redis).issue();
    const limits = async () =>
      Promise.all(
        [0, 1, 2].map(async (index) => (await send(pets(index), { key })).header('RateLimit-Policy')),
      );
    const policy = (minute: number, day: number) => `"minute";q=${minute};w=60, "day";q=${day};w=86400`;
    expect(await limits()).toEqual(Array(3).fill(policy(60, 1000)));
    await keyIssuer(redis).store.changeCustomer(customerId, { plan: 'pro' });
    expect(await limits()).toEqual(Array(3).fill(policy(300, 10_000)));
    await keyIssuer(redis).store.changeCustomer(customerId, { minute: 77 });
    expect(await limits()).toEqual(Array(3).fill(policy(77, 10_000)));
    await keyIssuer(redis).store.changeCustomer(customerId, { minute: null, plan: 'free' });
    expect(await limits()).toEqual(Array(3).fill(policy(60, 1000)));
  });
});
