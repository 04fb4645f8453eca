import type { RedisClient } from '../redis/redis-client.ts';
import { parseUsageKey, redisKeys, type CustomerId } from '../redis/redis-keys.ts';
import { scanRedisKeys } from './scan-redis-keys.ts';

/**
 * Finds customers with use in one of the months that the index lacks, such as those that were removed. Each customer once,
 * although SCAN may return it more often.
 * @param months months as YYYYMM
 */
export async function* scanUsage(
  redis: RedisClient,
  months: readonly string[],
): AsyncGenerator<CustomerId[]> {
  const found = new Set<CustomerId>();
  for await (const page of scanRedisKeys(redis, redisKeys.usageMonth('cus_*', '*'))) {
    const recorded = page.filter((key) => months.includes(key.slice(-6)));
    const ids = new Set(recorded.flatMap((key) => parseUsageKey(key)?.customerId ?? [])).difference(found);
    for (const id of ids) found.add(id);
    const indexed = await Promise.all(Array.from(ids, (id) => redis.zscore(redisKeys.customers, id)));
    const unindexed = [...ids].filter((_id, position) => indexed[position] === null);
    if (unindexed.length > 0) yield unindexed;
  }
}
