import type { RedisClient } from '../redis/redis-client.ts';
import { parseUsageKey, redisKeys } from '../redis/redis-keys.ts';
import { keyHashOf } from './api-key-index.ts';
import { scanRedisKeys } from './scan-redis-keys.ts';

/**
 * Finds keys with use in one of the months that the index lacks, such as those that were removed from it 90 days after
 * their end. Each key once, although SCAN may return it more often.
 * @param months months as YYYYMM
 */
export async function* scanUsage(redis: RedisClient, months: readonly string[]): AsyncGenerator<string[]> {
  const found = new Set<string>();
  for await (const page of scanRedisKeys(redis, redisKeys.usageMonth('*', '*'))) {
    const recorded = page.filter((key) => months.includes(key.slice(-6)));
    const unindexed = await Promise.all(
      recorded.map(async (key) => {
        const keyHash = parseUsageKey(key)?.keyHash;
        if (keyHash === undefined || found.has(keyHash)) return [];
        const id =
          (await redis.hget(key, 'id').catch(() => null)) ||
          // Recorded while the record of the key was lost.
          (await redis.hget(redisKeys.apiKey(keyHash), 'id').catch(() => null));
        if (id && (await keyHashOf(redis, id)) === keyHash) return [];
        return [keyHash];
      }),
    );
    const fresh = new Set(unindexed.flat());
    for (const keyHash of fresh) found.add(keyHash);
    if (fresh.size > 0) yield [...fresh];
  }
}
