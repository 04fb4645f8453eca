import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { redisKeys } from '../../../gateway/platform/redis/redis-keys.ts';

/** Counts in the record of the last minutes by field (traffic.ts), without durations, which nobody knows before. */
export async function recordedCounts(redis: RedisClient, minutes = 30): Promise<Record<string, number>> {
  const now = Math.floor(Date.now() / 60_000);
  const read = await Promise.all(
    Array.from({ length: minutes + 1 }, (_, index) => redis.hgetall(redisKeys.traffic(now - index))),
  );
  const sums: Record<string, number> = {};
  for (const [field, count] of read.flatMap(Object.entries<string>)) {
    if (!field.startsWith('ms:')) sums[field] = (sums[field] ?? 0) + Number(count);
  }
  return sums;
}
