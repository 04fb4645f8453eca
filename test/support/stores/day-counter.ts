import { dayNumberOf, utcDate } from '../../../gateway/limits/windows.ts';
import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { redisKeys, type CustomerId } from '../../../gateway/platform/redis/redis-keys.ts';

/** Redis key of this month's record of a customer's use, and its field for today. */
export function todaysUse(customerId: CustomerId): [key: string, field: string] {
  const date = utcDate(dayNumberOf(Date.now()));
  return [redisKeys.usageMonth(customerId, date.slice(0, 6)), date.slice(6)];
}

/** Requests of a customer that Redis has counted today. */
export async function dayUsage(redis: RedisClient, customerId: CustomerId): Promise<number> {
  return Number(await redis.hget(...todaysUse(customerId)));
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
