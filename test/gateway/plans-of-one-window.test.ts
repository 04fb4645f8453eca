import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { windowNames, windowOf } from '../../gateway/limits/windows.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { shared } from '../support/kits/shared.ts';

/** Runs on redis-server, or on the embedded Redis if that is not installed: the scripts have to work on both. */
describe('a plan with a limit of one window alone', () => {
  const kit = shared(startGatewayKit);

  const pets = (key: string) => send(`${kit.gateway.url}/v1/pets`, { key });
  const usage = async (key: string) => (await send(`${kit.gateway.url}/v1/usage`, { key })).json;
  const metrics = async () => (await send(`${kit.gateway.adminUrl}/metrics`)).text;
  const statuses = async (key: string, count: number) => {
    const found = [];
    for (let request = 0; request < count; request += 1) found.push((await pets(key)).status);
    return found;
  };

  test.each(windowNames)('%s: is served, limited and shown', async (name) => {
    const plan = `only-${name}`;
    await kit.redis.hset(redisKeys.plan(plan), name, 2);
    const { key } = await kit.issue({ plan });
    const first = await pets(key);
    expect(first.status).toBe(200);
    expect(first.header('RateLimit-Policy')).toMatch(new RegExp(`^"${name}";q=2;w=\\d+$`));
    expect(first.header('RateLimit')).toMatch(new RegExp(`^"${name}";r=1;t=\\d+$`));
    expect([first.header('X-RateLimit-Limit'), first.header('X-RateLimit-Remaining')]).toEqual(['2', '1']);
    expect((await pets(key)).status).toBe(200);
    const refused = await pets(key);
    expect(refused.status).toBe(429);
    expect(refused.json).toMatchObject({
      code: 'rate_limit_exceeded',
      message: expect.stringContaining(`The limit of 2 requests ${windowOf(name).each} is used up.`),
    });
    expect(refused.header('X-RateLimit-Window')).toBe(name);
    const [, left] = new RegExp(`^"${name}";r=0;t=(\\d+)$`).exec(refused.header('RateLimit') ?? '') ?? [];
    expect(refused.header('Retry-After')).toBe(left);
    expect(Number(left)).toBeGreaterThan(0);
    const read = await usage(key);
    expect(read).toMatchObject({ plan, [name]: { limit: 2, used: 2, remaining: 0 }, strikesToBan: 60 });
    expect(windowNames.filter((window) => Object.hasOwn(read as object, window))).toEqual([name]);
    const ofPlan = (await metrics()).split('\n').filter((line) => line.includes(`plan="${plan}"`));
    expect(ofPlan).toContain(`gateway_plan_limit{plan="${plan}",window="${name}"} 2`);
    expect(ofPlan).toContain(`gateway_quota_refusals_total{plan="${plan}",window="${name}"} 1`);
    expect(ofPlan.filter((line) => /window=/.test(line) && !line.includes(`window="${name}"`))).toEqual([]);
  });

  test('strikes of a key without a minute limit count alone, and its ban shows the first window', async () => {
    await kit.redis.hset(redisKeys.plan('banning'), { hour: 5, month: 100 });
    const { key } = await kit.issue({ plan: 'banning' });
    await kit.redis.hset(redisKeys.banPolicy, { graceSeconds: 0, strikes: 3 });
    await expect.poll(() => usage(key), { interval: 200 }).toMatchObject({ strikesToBan: 3 });
    expect(await statuses(key, 6)).toEqual([200, 200, 200, 200, 200, 429]);
    await sleep(10);
    const before = [await pets(key), await pets(key)];
    expect(before.map((response) => response.header('X-RateLimit-Ban-After'))).toEqual(['2', '1']);
    const banned = await pets(key);
    await kit.redis.hset(redisKeys.banPolicy, { graceSeconds: 10, strikes: 60 });
    expect(banned.status).toBe(429);
    expect(banned.json).toMatchObject({ code: 'api_key_banned' });
    expect(banned.header('Retry-After')).toBe('60');
    expect(banned.header('X-RateLimit-Limit')).toBe('5');
    expect(banned.header('X-RateLimit-Remaining')).toBe('0');
    expect(banned.header('RateLimit-Policy')).toMatch(
      /^"hour";q=5;w=3600, "month";q=100;w=\d+, "ban";q=0;w=60$/,
    );
    expect(await usage(key)).toMatchObject({
      hour: { used: 5 },
      month: { used: 5 },
      bannedUntil: expect.any(String),
    });
  });
});
