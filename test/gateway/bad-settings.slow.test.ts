import { describe, expect, onTestFinished, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { metricOf, runOps } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';

describe('invalid values in Redis', () => {
  const kit = shared(startGatewayKit);

  const policyOf = async (key: string) =>
    (await send(`${kit.gateway.url}/v1/pets`, { key })).header('RateLimit-Policy');
  const metric = (key: string) => metricOf(kit.gateway, `gateway_bad_settings{key="${key}"}`);

  const pro = redisKeys.plan('pro');
  const limits = { minute: 300, day: 10_000 };

  test.each<[damage: string, make: () => Promise<unknown>, issues: number, minute: number, day: number]>([
    ['a limit that is text', () => kit.redis.hset(pro, 'minute', 'many'), 1, 300, 10_000],
    ['a shadow limit that is text', () => kit.redis.hset(pro, 'shadowMinute', 'few'), 1, 300, 10_000],
    ['a deleted plan', () => kit.redis.del(pro), 2, 300, 10_000],
    ['a value of another type', () => kit.redis.set(pro, 'oops'), 1, 300, 10_000],
    [
      'one limit beside a valid one',
      () => kit.redis.hset(pro, { minute: 'oops', day: 20_000 }),
      1,
      300,
      20_000,
    ],
  ])(
    '%s is logged and counted in a metric, and the last valid one stays in force',
    async (_damage, make, issues, minute, day) => {
      const { key } = await kit.issue({ plan: 'pro' });
      await make();
      await expect.poll(() => metric('gw:plan:pro'), { timeout: 2000 }).toBe(issues);
      expect(await policyOf(key)).toBe(`"minute";q=${minute};w=60, "day";q=${day};w=86400`);
      await expect.poll(kit.gateway.output).toContain('"key":"gw:plan:pro"');
      await kit.redis.del(pro);
      await kit.redis.hset(pro, limits);
      await expect.poll(() => metric('gw:plan:pro'), { timeout: 2000 }).toBe(0);
    },
  );

  test.each([redisKeys.audit, redisKeys.processStatuses])(
    '%s of the wrong type fails ops commands, which name it',
    async (key) => {
      onTestFinished(async () => {
        await kit.redis.del(key);
      });
      await kit.redis.del(key);
      await kit.redis.set(key, 'oops');
      const change = ['policy', 'set', '--anonymous-minute', '59'];
      expect(await runOps(change, { REDIS_URL: kit.server.url })).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`${key} holds a value of another type than the gateway writes`),
      });
      expect(await kit.redis.hget(redisKeys.plan('anonymous'), 'minute')).toBe('60');
    },
  );
});
