import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { shared } from '../support/kits/shared.ts';

/** Runs on redis-server, or on the embedded Redis if that is not installed: the scripts have to work on both. */
describe('a plan with a limit of one window alone', () => {
  const kit = shared(startGatewayKit);

  const pets = (key: string) => send(`${kit.gateway.url}/v1/pets`, { key });
  const usage = async (key: string) => (await send(`${kit.gateway.url}/v1/usage`, { key })).json;
  const statuses = async (key: string, count: number) => {
    const found = [];
    for (let request = 0; request < count; request += 1) found.push((await pets(key)).status);
    return found;
  };

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
    expect(banned).toMatchObject({ status: 429, json: { code: 'api_key_banned' } });
    expect(banned.headers).toMatchObject({ 'retry-after': '60', 'x-ratelimit-limit': '5' });
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
