import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readAudit } from '../../gateway/control/audit/audit-log.ts';
import { settingsOf } from '../../gateway/control/plans/plans-file-diff.ts';
import {
  diffSettings,
  readStored,
  writeSettings,
  type SettingChange,
} from '../../gateway/control/plans/settings.ts';
import { createAuditLog, type AuditLog } from '../../gateway/platform/redis/record-change.ts';
import type { RedisClient } from '../../gateway/platform/redis/redis-client.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startRedisCluster, type RedisClusterServers } from '../support/stores/redis-cluster.ts';

const options = { tags: ['redis-server'], timeout: 60_000 };

let cluster: RedisClusterServers;
let redis: RedisClient;
let audit: AuditLog;

beforeAll(async () => {
  cluster = await startRedisCluster();
  redis = await connectRedis(cluster.url);
  audit = createAuditLog({ redis, who: 'tests' });
}, 60_000);

beforeEach(async () => {
  await redis.del(redisKeys.audit);
});

afterAll(async () => {
  redis.disconnect();
  await cluster[Symbol.asyncDispose]();
});

async function changesTo(minute: number, [first, second]: [string, string]): Promise<SettingChange[]> {
  const plans = { [first]: { minute, day: 2000 }, [second]: { minute: 3, day: 4 } };
  const wanted = settingsOf({ plans, anonymous: { minute: 9 } });
  return diffSettings(await readStored(redis, wanted), wanted);
}

/** Minute limits that are stored. */
const stored = (...names: string[]) =>
  Promise.all(names.map((name) => redis.hget(redisKeys.plan(name), 'minute')));

/** Targets of the entries whose change was not made. */
async function notMade(): Promise<string[]> {
  const entries = await readAudit(redis, 100);
  return entries.flatMap(({ notMade }) => entries.find(({ id }) => id === notMade)?.target ?? []);
}

test(
  'on Redis Cluster, settings are written one after another, until somebody else has changed one',
  options,
  async () => {
    await redis.hset(redisKeys.plan('pro'), { minute: 300, day: 10_000 });

    const outdated = await changesTo(1, ['pro', 'fresh']);
    await redis.hset(redisKeys.plan('anonymous'), { minute: 77 });
    await expect(writeSettings({ redis, audit }, outdated)).rejects.toThrow(
      'not all settings were written, but plans.pro, plans.fresh only: somebody else has changed the settings',
    );
    expect(await stored('pro', 'fresh', 'anonymous')).toEqual(['1', '3', '77']);
    expect(await notMade()).toEqual(['anonymous']);

    await writeSettings({ redis, audit }, await changesTo(1, ['pro', 'fresh']));
    expect(await stored('pro', 'fresh', 'anonymous')).toEqual(['1', '3', '9']);
    expect((await redis.smembers(redisKeys.planNames)).toSorted()).toEqual(['fresh', 'pro']);
    expect(await changesTo(1, ['pro', 'fresh'])).toEqual([]);
  },
);

test(
  'what was written before a Redis Cluster loses a part is named, and the same command completes it',
  options,
  async () => {
    const logNode = await cluster.masterOf(redisKeys.audit);
    const names = Array.from({ length: 50 }, (_, index) => `plan-${index}`);
    const nodes = await Promise.all(names.map((name) => cluster.masterOf(redisKeys.plan(name))));
    const lost = names[nodes.findIndex((node) => node !== logNode)] ?? '';
    const kept = names[nodes.indexOf(logNode)] ?? '';
    const lostNode = await cluster.masterOf(redisKeys.plan(lost));

    const changes = await changesTo(1, [kept, lost]);
    const breaking = Object.assign((change: Parameters<AuditLog>[0]) => audit(change), audit, {
      async make(...[made, call]: Parameters<AuditLog['make']>) {
        if (made[0]?.target === lost) await lostNode.kill();
        return audit.make(made, call);
      },
    });
    await expect(writeSettings({ redis, audit: breaking }, changes)).rejects.toThrow(
      `not all settings were written, but plans.${kept} only: `,
    );
    await expect
      .poll(
        async () => {
          const left = await changesTo(1, [kept, lost]).catch(() => undefined);
          if (left === undefined) return undefined;
          await writeSettings({ redis, audit }, left).catch(() => {});
          return stored(kept, lost).catch(() => undefined);
        },
        { timeout: 20_000, interval: 200 },
      )
      .toEqual(['1', '3']);
  },
);
