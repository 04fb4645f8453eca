import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { anonymousPlan } from '../../gateway/quota/plan-settings.ts';
import { send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { metricOf } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';

describe('refused addresses', { tags: ['redis-server'] }, () => {
  const kit = shared(() => startGatewayKit({ TRUST_PROXY: 'loopback' }));

  const from = (address: string, key?: string, path = '/v1/pets') =>
    send(kit.gateway.url + path, {
      headers: { 'x-forwarded-for': address },
      ...(key === undefined ? {} : { key }),
    });
  const metric = (series: string) => metricOf(kit.gateway, series);
  const statusOf = async (...request: Parameters<typeof from>) => (await from(...request)).status;

  test('refusals without a key count under the plan anonymous', async () => {
    await kit.redis.hset(redisKeys.plan(anonymousPlan), 'minute', 5);
    await expect.poll(() => metric('gateway_plan_limit{plan="anonymous",window="minute"}')).toBe(5);
    const codes = await Promise.all(Array.from({ length: 40 }, () => statusOf('198.51.100.7')));
    expect(codes.filter((code) => code === 401)).toHaveLength(5);
    expect(codes.filter((code) => code === 429)).toHaveLength(35);
    expect(await statusOf('2001:db8:0:12::1')).toBe(401);
    expect(await statusOf('2001:db8:0:34::1')).toBe(401);
    await kit.redis.hset(redisKeys.plan(anonymousPlan), 'minute', 1_000_000);
    expect(await metric('gateway_quota_refusals_total{plan="anonymous",window="minute"}')).toBe(35);
    expect(await metric('gateway_unauthenticated_requests_total{plan="anonymous"}')).toBe(7);
  });

  test('a served request, and one that is refused by its key, are of no address', async () => {
    const before = await metric('gateway_unauthenticated_requests_total{plan="anonymous"}');
    const { key } = await kit.issue({ plan: 'pro', minute: 1 });
    expect(await statusOf('198.51.100.8', key)).toBe(200);
    expect(await statusOf('198.51.100.8', key)).toBe(429);
    expect(await metric('gateway_unauthenticated_requests_total{plan="anonymous"}')).toBe(before);
  });
});
