import { describe, expect, test } from 'vitest';
import { startGatewayFleet } from '../support/kits/gateway-fleet.ts';
import { shared } from '../support/kits/shared.ts';
import { expectServedDuringOutage, startKeyLoad } from '../support/load/key-load.ts';
import { dayUsage } from '../support/stores/day-counter.ts';
import { startRedisSentinels } from '../support/stores/redis-sentinel.ts';

describe(
  'a Redis master with two replicas and three Sentinels',
  { tags: ['redis-server'], timeout: 120_000 },
  () => {
    const redis = shared(startRedisSentinels);
    const fleet = shared(() => startGatewayFleet(redis.url, 3));

    const pets = (key: string, index?: number) => fleet.pets(key, index);

    async function expectExactQuota(): Promise<void> {
      const { key, customerId } = await fleet.issue({ minute: 20 });
      const responses = await Promise.all(Array.from({ length: 60 }, (_, index) => pets(key, index)));
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(20);
      expect(responses.filter(({ status }) => status === 429)).toHaveLength(40);
      expect(await dayUsage(fleet.redis, customerId)).toBe(20);
    }

    test.each([
      ['dies', 'SIGKILL'],
      ['hangs', 'SIGSTOP'],
    ] as const)(
      'when the master %s, known keys are served and the new master continues the counters',
      async (_failure, signal) => {
        const keys = await Promise.all(
          Array.from({ length: 6 }, () => fleet.issue({ minute: 5000, day: 60 })),
        );
        const load = startKeyLoad(
          fleet.gateways.map(({ url }) => url),
          keys.map(({ key }) => key),
        );
        await load.more(150);
        const oldMaster = await redis.master();
        if (signal === 'SIGKILL') await oldMaster.kill();
        else oldMaster.signal(signal);
        await expect.poll(fleet.redisStates, { timeout: 5000 }).toContain('unavailable');
        await expect.poll(fleet.redisStates, { timeout: 30_000 }).toEqual(['ok', 'ok', 'ok']);
        expect(await redis.master()).not.toBe(oldMaster);
        await load.more(600);
        await load.stop();
        // The test's own connection finds the new master separately, maybe later.
        await expect.poll(() => fleet.redis.ping().catch(String), { timeout: 30_000 }).toBe('PONG');

        await expectServedDuringOutage(load, keys, fleet.redis);
        await expectExactQuota();
        for (const gateway of fleet.gateways) {
          const lines = gateway.output().trim().split('\n');
          const reasons = lines.map((line) => (JSON.parse(line) as { reason?: string }).reason ?? '');
          const refusals = reasons.filter(
            (reason) => reason === `connect ECONNREFUSED 127.0.0.1:${oldMaster.port}`,
          );
          expect(refusals).toHaveLength(signal === 'SIGKILL' ? 1 : 0);
        }

        if (signal === 'SIGKILL') await oldMaster.restart();
        else oldMaster.signal('SIGCONT');
        // The old master comes back as a replica.
        await expect
          .poll(() => oldMaster.redis.info('replication'), { timeout: 30_000 })
          .toMatch(/role:slave[^]*master_link_status:up/);
        await expectExactQuota();
      },
    );
  },
);
