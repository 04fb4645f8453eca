import { expect, test } from 'vitest';
import { readStored, settingsOf } from '../../gateway/operations/file-settings.ts';
import { diffSettings } from '../../gateway/operations/settings-diff.ts';
import { writeSettings } from '../../gateway/operations/write-settings.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startRedisCluster } from '../support/stores/redis-cluster.ts';

const options = { tags: ['redis-server'], timeout: 60_000 };

test(
  'on Redis Cluster, settings are written together, and written back if one of them has changed',
  options,
  async () => {
    await using cluster = await startRedisCluster();
    const redis = await connectRedis(cluster.url);
    try {
      const audit = () => Promise.resolve();
      const pro = (minute: number) => ({ pro: { minute, day: 2000 }, fresh: { minute: 3, day: 4 } });
      const changesTo = async (minute: number) => {
        const wanted = settingsOf({ plans: pro(minute), anonymous: { minute: 9 } });
        return diffSettings(await readStored(redis, wanted), wanted);
      };
      const stored = () =>
        Promise.all([
          ...['pro', 'fresh', 'anonymous'].map((name) => redis.hgetall(redisKeys.plan(name))),
          redis.smembers(redisKeys.planNames),
        ]);
      await redis.hset(redisKeys.plan('pro'), { minute: 300, day: 10_000 });

      const outdated = await changesTo(1);
      await redis.hset(redisKeys.plan('anonymous'), { minute: 77 });
      await expect(writeSettings({ redis, audit }, outdated)).rejects.toThrow(
        'somebody else has changed the settings',
      );
      expect(await stored()).toEqual([{ minute: '300', day: '10000' }, {}, { minute: '77' }, []]);

      await writeSettings({ redis, audit }, await changesTo(1));
      const [first, second, third, names] = await stored();
      expect([first, second, third]).toEqual([
        { minute: '1', day: '2000' },
        { minute: '3', day: '4' },
        { minute: '9' },
      ]);
      expect(Object.values(names ?? []).toSorted()).toEqual(['fresh', 'pro']);
      expect(await changesTo(1)).toEqual([]);
    } finally {
      redis.disconnect();
    }
  },
);
