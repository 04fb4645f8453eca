import { dayNumberOf, utcDate } from '../../../gateway/limits/utc-day.ts';
import type { RedisClient } from '../../../gateway/redis/redis-client.ts';
import { redisKeys } from '../../../gateway/redis/redis-keys.ts';

/** Redis key of today's counter of an API key. */
export function dayCounterKey(keyHash: string): string {
  return redisKeys.day(customerId, utcDate(dayNumberOf(Date.now())));
}

/** Requests with an API key that Redis has counted today. */
export async function dayUsage(redis: RedisClient, keyHash: string): Promise<number> {
  return Number(await redis.get(dayCounterKey(keyHash)));
}

/** Records use of an API key on a day before today. */
export async function recordUse(
  redis: RedisClient,
  keyHash: string,
  daysAgo: number,
  units: number,
): Promise<void> {
  const date = utcDate(dayNumberOf(Date.now()) - daysAgo);
  await redis.hset(redisKeys.usageMonth(customerId, date.slice(0, 6)), date.slice(6), units);
}
