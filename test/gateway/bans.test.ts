import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import type { IssuedKey } from '../support/kits/keys.ts';
import { monitorRedis } from '../support/stores/redis-monitor.ts';

let kit: GatewayKit;
let redis: RedisClient;

beforeAll(async () => {
  kit = await startGatewayKit();
  redis = kit.redis;
});

afterAll(async () => {
  kit.expectNoOutage();
  await kit[Symbol.asyncDispose]();
});

const pets = (key: string) => send(`${kit.gateway.url}/v1/pets`, { key });

/** A key that has used up its minute limit of one request. */
async function exhaustedKey(): Promise<IssuedKey> {
  const issued = await kit.issue({ minute: 1 });
  await pets(issued.key);
  return issued;
}

/** Moves recorded violations into the past: violations within a second count as one. */
async function ageViolations(keyHash: string, byMs: number): Promise<void> {
  const recent = await redis.hget(redisKeys.violations(keyHash), 'recent');
  const aged = (recent ?? '').split(',').flatMap((text) => (text === '' ? [] : [Number(text) - byMs]));
  await redis.hset(redisKeys.violations(keyHash), 'recent', aged.join(','));
}

/** Ten violations, in Redis a second apart: the tenth leads to a ban. */
async function provokeBan({ key, keyHash }: IssuedKey) {
  for (let violation = 0; violation < 9; violation += 1) {
    await pets(key);
    await ageViolations(keyHash, 1100);
  }
  return pets(key);
}

// Concurrent, because most wait for real time to pass. Waits of a minute are in waiting-clients.long.test.ts.
describe.concurrent('bans', { tags: ['redis-server'] }, () => {
  test(
    'a client that keeps sending after 429 is banned within 15 seconds',
    { timeout: 40_000 },
    async ({ expect }) => {
      const { key } = await exhaustedKey();
      const startedAt = Date.now();
      let code: unknown;
      while (code !== 'api_key_banned' && Date.now() - startedAt < 30_000) {
        const response = await pets(key);
        code = (response.json as { code: string }).code;
        await sleep(20);
      }
      expect(code).toBe('api_key_banned');
      expect(Date.now() - startedAt).toBeLessThan(15_000);
    },
  );

  test('the tenth violation within a minute leads to a ban of a minute, during which no quota is consumed', async ({
    expect,
  }) => {
    const issued = await exhaustedKey();
    const banned = await provokeBan(issued);
    expect(banned.status).toBe(429);
    expect(banned.json).toEqual({
      code: 'api_key_banned',
      message: expect.any(String) as unknown,
      status: 429,
    });
    expect(banned.header('Retry-After')).toBe('60');
    expect(banned.header('X-RateLimit-Limit')).toBe('1');
    expect(banned.header('X-RateLimit-Remaining')).toBe('0');
    const until = Number(banned.header('X-RateLimit-Reset'));
    expect(Math.abs(until - (Date.now() / 1000 + 60))).toBeLessThan(3);
    // The ban outlasts the minute window.
    await redis.del(redisKeys.minute(issued.keyHash));
    expect((await pets(issued.key)).json).toMatchObject({ code: 'api_key_banned' });
    expect(await redis.exists(redisKeys.minute(issued.keyHash))).toBe(0);
  });

  test('each further ban is twice as long, up to an hour, and a day without one resets the length', async ({
    expect,
  }) => {
    const issued = await exhaustedKey();
    const banSeconds = [];
    for (let ban = 0; ban < 8; ban += 1) {
      await redis.set(redisKeys.minute(issued.keyHash), 1, 'EX', 60);
      const banned = await provokeBan(issued);
      banSeconds.push(Number(banned.header('Retry-After')));
      await redis.del(redisKeys.ban(issued.keyHash));
      await sleep(1100);
    }
    expect(banSeconds).toEqual([60, 120, 240, 480, 960, 1920, 3600, 3600]);
    expect(await redis.ttl(redisKeys.violations(issued.keyHash))).toBeGreaterThan(86_400);

    await redis.hset(redisKeys.violations(issued.keyHash), 'bannedUntil', Date.now() - 86_400_000);
    await redis.set(redisKeys.minute(issued.keyHash), 1, 'EX', 60);
    expect((await provokeBan(issued)).header('Retry-After')).toBe('60');
  });

  test('a ban ends within a second after an operator deletes its Redis key', async ({ expect }) => {
    const issued = await exhaustedKey();
    await provokeBan(issued);
    await redis.del(redisKeys.ban(issued.keyHash), redisKeys.minute(issued.keyHash));
    await sleep(1000);
    expect((await pets(issued.key)).status).toBe(200);
  });

  test('a banned client that keeps sending costs one Redis command a second', async ({ expect }) => {
    const issued = await exhaustedKey();
    await provokeBan(issued);
    const monitor = await monitorRedis(kit.server.port);
    const startedAt = Date.now();
    let requests = 0;
    while (Date.now() - startedAt < 3000) {
      const responses = await Promise.all(Array.from({ length: 10 }, () => pets(issued.key)));
      requests += responses.filter(({ status }) => status === 429).length;
    }
    const commands = monitor.commands.filter(
      ({ source, args }) => source !== 'lua' && args.some((arg) => arg.includes(issued.keyHash)),
    ).length;
    monitor.close();
    expect(requests).toBeGreaterThan(100);
    expect(commands).toBeGreaterThanOrEqual(2);
    expect(commands).toBeLessThanOrEqual(4);
  });
});

describe('violations and the ban policy', { tags: ['redis-server'] }, () => {
  test('200 concurrent requests over the limit count as one violation', async () => {
    const { key, keyHash } = await kit.issue({ minute: 50 });
    const responses = await Promise.all(Array.from({ length: 200 }, () => pets(key)));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(50);
    const recent = await redis.hget(redisKeys.violations(keyHash), 'recent');
    expect(recent?.split(',')).toHaveLength(1);
    expect(await redis.exists(redisKeys.ban(keyHash))).toBe(0);
  });

  test('a ban expires after its Retry-After', async () => {
    await redis.hset(redisKeys.banPolicy, 'banSeconds', 2);
    await sleep(1000);
    const issued = await exhaustedKey();
    const banned = await provokeBan(issued);
    await redis.hset(redisKeys.banPolicy, 'banSeconds', 60);
    expect(banned.header('Retry-After')).toBe('2');
    await redis.del(redisKeys.minute(issued.keyHash));
    await sleep(2000);
    expect((await pets(issued.key)).status).toBe(200);
  });

  test('a policy that is disabled in Redis bans no key', async () => {
    await redis.hset(redisKeys.banPolicy, 'enabled', 'false');
    await sleep(1000);
    const issued = await exhaustedKey();
    const last = await provokeBan(issued);
    await redis.hset(redisKeys.banPolicy, 'enabled', 'true');
    expect(last.json).toMatchObject({ code: 'rate_limit_exceeded' });
    await sleep(1000);
  });
});
