import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startGatewayFleet, type GatewayFleet } from '../support/kits/gateway-fleet.ts';
import { runProgram } from '../support/kits/service.ts';
import { startKeyLoad } from '../support/load/key-load.ts';
import { dayUsed } from '../support/stores/day-counter.ts';
import { startRedisSentinels, type RedisSentinelServers } from '../support/stores/redis-sentinel.ts';

describe('on a master with two replicas and three Sentinels', { tags: ['redis-server'] }, () => {
  let redis: RedisSentinelServers;
  let fleet: GatewayFleet;

  beforeAll(async () => {
    redis = await startRedisSentinels();
    fleet = await startGatewayFleet(redis.url, 3);
  });
  afterAll(async () => {
    await fleet[Symbol.asyncDispose]();
    await redis[Symbol.asyncDispose]();
  });

  const pets: GatewayFleet['pets'] = (key, turn) => fleet.pets(key, turn);

  async function expectExact(): Promise<void> {
    const { key, keyHash } = await fleet.issue({ minute: 20 });
    const responses = await Promise.all(Array.from({ length: 60 }, (_, turn) => pets(key, turn)));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(20);
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(40);
    expect(await dayUsed(fleet.redis, keyHash)).toBe(20);
  }

  test('quotas are exact over three gateways', expectExact);

  test('operators reach it by the same address', async () => {
    const { id } = await fleet.issue({ name: 'Behind Sentinels' });
    const { code, stdout } = await runProgram(['gateway/ops/main.ts', 'keys', 'show', id], {
      REDIS_URL: redis.url,
    });
    expect(code).toBe(0);
    expect(stdout).toContain('Behind Sentinels');
  });

  test.each([
    ['dies', 'SIGKILL'],
    ['hangs', 'SIGSTOP'],
  ] as const)(
    'a master that %s: known keys are served, and the next master goes on counting',
    async (_what, signal) => {
      const keys = await Promise.all(Array.from({ length: 6 }, () => fleet.issue({ minute: 5000, day: 60 })));
      const load = startKeyLoad(
        fleet.gateways.map(({ url }) => url),
        keys.map(({ key }) => key),
      );
      await load.more(150);
      const old = await redis.master();
      if (signal === 'SIGKILL') await old.kill();
      else old.signal(signal);
      await expect.poll(fleet.redisStates, { timeout: 5000 }).toContain('unavailable');
      await expect.poll(fleet.redisStates, { timeout: 30_000 }).toEqual(['ok', 'ok', 'ok']);
      expect(await redis.master()).not.toBe(old);
      await load.more(600);
      await load.stop();
      // Our own connection finds the next master by itself, and not at the same moment.
      await expect.poll(() => fleet.redis.status, { timeout: 30_000 }).toBe('ready');

      expect(new Set(load.outcomes.map(({ status }) => status))).toEqual(new Set([200, 429]));
      for (const { key, keyHash } of keys) {
        const served = load.count(key, 200);
        expect(served).toBeGreaterThanOrEqual(60);
        // What each instance may admit by itself is a third of the limit.
        expect(served).toBeLessThanOrEqual(120);
        // A replica may lack what its master counted last.
        expect(await dayUsed(fleet.redis, keyHash)).toBeGreaterThanOrEqual(served - 3);
      }
      await expectExact();

      if (signal === 'SIGKILL') await old.restart();
      else old.signal('SIGCONT');
      // It is back as a replica, and nobody counts there.
      await expect
        .poll(() => old.redis.info('replication'), { timeout: 30_000 })
        .toMatch(/role:slave[^]*master_link_status:up/);
      await expectExact();
    },
  );

  test('Sentinels that are gone do no harm to a master that is there', async () => {
    await Promise.all(redis.sentinels.map((sentinel) => sentinel.kill()));
    await expectExact();
    await Promise.all(redis.sentinels.map((sentinel) => sentinel.restart()));
    expect(await fleet.redisStates()).toEqual(['ok', 'ok', 'ok']);
  });
});
