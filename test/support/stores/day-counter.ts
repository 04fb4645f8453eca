import { dayNumberOf, utcDate } from '../../../gateway/limits/utc-day.ts';
import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { redisKeys, type CustomerId } from '../../../gateway/platform/redis/redis-keys.ts';

/** Redis key of today's counter of a customer. */
export function dayCounterKey(customerId: CustomerId): string {
  return redisKeys.day(customerId, utcDate(dayNumberOf(Date.now())));
}

/** Requests of a customer that Redis has counted today. */
export async function dayUsage(redis: RedisClient, customerId: CustomerId): Promise<number> {
  return Number(await redis.get(dayCounterKey(customerId)));
}

/** Records use of a customer on a day before today. */
export async function recordUse(
  redis: RedisClient,
  customerId: CustomerId,
  daysAgo: number,
  units: number,
): Promise<void> {
  const date = utcDate(dayNumberOf(Date.now()) - daysAgo);
  await redis.hset(redisKeys.usageMonth(customerId, date.slice(0, 6)), date.slice(6), units);
}
