import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../../gateway/operations/audit-log.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { runProgram, startGateway } from '../support/kits/service.ts';
import { startRedisServer, type RedisServer } from '../support/stores/redis-server.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

const firstPolicy = {
  enabled: 'false',
  violations: '20',
  windowSeconds: '120',
  banSeconds: '30',
  maxBanSeconds: '7200',
  resetSeconds: '3600',
};
const converted = {
  enabled: 'false',
  graceSeconds: '10',
  strikes: '60',
  strikesPerLimit: '1',
  windowSeconds: '60',
  banSeconds: '30',
  maxBanSeconds: '7200',
  resetSeconds: '3600',
};

describe('a ban policy of earlier versions', { tags: ['redis-server'], timeout: 60_000 }, () => {
  let server: RedisServer;
  beforeEach(async () => {
    server = await startRedisServer();
    await server.redis.hset(redisKeys.banPolicy, firstPolicy);
  });
  afterEach(() => server[Symbol.asyncDispose]());

  const storedPolicy = () => server.redis.hgetall(redisKeys.banPolicy);

  async function conversions() {
    const redis = await connectRedis(server.url);
    const entries = await readAudit(redis, 100);
    redis.disconnect();
    return entries.filter(({ action }) => action === 'policy.convert');
  }

  test('is converted and audited once by gateways that start together, and in force on each', async () => {
    await using upstream = await startUpstream();
    const env = { REDIS_URL: server.url, PETS_SERVICE_URL: upstream.url };
    const gateways = await Promise.all([1, 2, 3].map(() => startGateway(env)));
    expect(await storedPolicy()).toEqual(converted);
    expect(await conversions()).toMatchObject([
      {
        who: 'gateway',
        target: 'gw:ban-policy',
        before: firstPolicy,
        after: { strikes: 60, banSeconds: 30 },
      },
    ]);
    for (const gateway of gateways) {
      expect(gateway.output()).not.toContain('"key":"gw:ban-policy"');
      await gateway[Symbol.asyncDispose]();
    }
    const outputs = gateways.map((gateway) => gateway.output()).join('');
    expect(outputs.match(/ban policy of an earlier version was converted/g)).toHaveLength(1);
  });

  test('is converted by the ops command in the name of a person, but not by one that only reads', async () => {
    const ops = (...args: string[]) =>
      runProgram(['gateway/ops/main.ts', ...args], { REDIS_URL: server.url });
    const shown = await ops('policy', 'show');
    expect(shown).toMatchObject({ code: 2 });
    expect(shown.stderr).toContain('violations belongs to the first ban policy');
    expect(await storedPolicy()).toEqual(firstPolicy);
    expect(await ops('policy', 'set', '--strikes', '70', '--as', 'eve')).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await storedPolicy()).toEqual({ ...converted, strikes: '70' });
    expect(await conversions()).toMatchObject([{ who: 'eve', before: firstPolicy }]);
  });

  test.each([
    ['mixed with the present one', { strikes: '5' }],
    ['invalid', { violations: 'ten' }],
  ])('that is %s stays as it is, and is reported', async (_name, change) => {
    await server.redis.hset(redisKeys.banPolicy, change);
    await using upstream = await startUpstream();
    await using gateway = await startGateway({ REDIS_URL: server.url, PETS_SERVICE_URL: upstream.url });
    await expect.poll(gateway.output).toContain('"key":"gw:ban-policy"');
    expect(await storedPolicy()).toEqual({ ...firstPolicy, ...change });
    expect(await conversions()).toEqual([]);
  });
});
