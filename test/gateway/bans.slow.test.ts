import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import type { RedisClient } from '../../gateway/platform/redis/redis-client.ts';
import { redisKeys, type KeyPlace } from '../../gateway/platform/redis/redis-keys.ts';
import { createSimulatedTime } from '../support/checks/simulated-time.ts';
import { send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import type { IssuedKey } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';

let redis: RedisClient;

const kit = shared(startGatewayKit);
beforeAll(() => {
  redis = kit.redis;
});

const pets = (key: string) => send(`${kit.gateway.url}/v1/pets`, { key });

/** A key that has used up its minute limit of one request. */
async function exhaustedKey(): Promise<IssuedKey> {
  const issued = await kit.issue({ minute: 1 });
  await pets(issued.key);
  return issued;
}

/** A refusal, and 60 more after the grace period: the last one leads to a ban. */
async function provokeBan(issued: IssuedKey) {
  const { key } = issued;
  await pets(key);
  await createSimulatedTime(redis, issued).moveTimes(11_000);
  for (let strike = 1; strike < 60; strike += 1) await pets(key);
  return pets(key);
}

const strikesOf = async (place: KeyPlace) => (await redis.hget(redisKeys.strikes(place), 'strikes')) ?? '0';

// Concurrent, because most wait for real time to pass.
describe.concurrent('bans', { tags: ['redis-server'] }, () => {
  test('the 60th strike within a minute leads to a ban of a minute, during which no quota is consumed', async ({
    expect,
  }) => {
    const issued = await exhaustedKey();
    const banned = await provokeBan(issued);
    const message: unknown = expect.any(String);
    expect(banned.status).toBe(429);
    expect(banned.json).toEqual({ code: 'api_key_banned', message, status: 429 });
    expect(banned.headers).toMatchObject({ 'retry-after': '60', 'x-ratelimit-limit': '1' });
    expect(banned.header('X-RateLimit-Remaining')).toBe('0');
    const until = Number(banned.header('X-RateLimit-Reset'));
    expect(Math.abs(until - (Date.now() / 1000 + 60))).toBeLessThan(3);
    // The ban outlasts the minute window.
    await redis.del(redisKeys.openWindow(issued.customerId, 'minute'));
    expect((await pets(issued.key)).json).toMatchObject({ code: 'api_key_banned' });
    expect(await redis.exists(redisKeys.openWindow(issued.customerId, 'minute'))).toBe(0);
  });

  test('a ban ends within a second after an operator deletes its Redis key', async ({ expect }) => {
    const issued = await exhaustedKey();
    await provokeBan(issued);
    await redis.del(redisKeys.ban(issued), redisKeys.openWindow(issued.customerId, 'minute'));
    await sleep(1000);
    expect((await pets(issued.key)).status).toBe(200);
  });
});

describe('strikes and the ban policy', { tags: ['redis-server'] }, () => {
  test('a strike warns of the ban, and a request that is allowed begins a new grace period', async () => {
    const { key, customerId, keyHash } = await exhaustedKey();
    await pets(key);
    const inGrace = await pets(key);
    expect(inGrace.header('X-RateLimit-Window')).toBe('minute');
    expect(inGrace.header('X-RateLimit-Ban-After')).toBeUndefined();
    await createSimulatedTime(redis, { customerId, keyHash }).moveTimes(11_000);
    const warned = await pets(key);
    expect(warned.header('X-RateLimit-Ban-After')).toBe('59');
    expect(warned.json).toMatchObject({
      message: expect.stringContaining(' 59 more requests before that lead to a ban.') as unknown,
    });
    expect(await strikesOf({ customerId, keyHash })).toBe('1');
    await redis.del(redisKeys.openWindow(customerId, 'minute'));
    expect((await pets(key)).status).toBe(200);
    await pets(key);
    await pets(key);
    expect(await strikesOf({ customerId, keyHash })).toBe('1');
  });
});
