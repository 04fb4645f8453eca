import { dayNumberOf, utcDate } from '../../../gateway/quota/utc-day.ts';
import type { RedisClient } from '../../../gateway/redis/redis-client.ts';
import { redisKeys } from '../../../gateway/redis/redis-keys.ts';

/** Name of the counter of a key's requests of the day that it is now. */
export function dayCounter(keyHash: string): string {
  return redisKeys.day(keyHash, utcDate(dayNumberOf(Date.now())));
}

/** Requests of a key that Redis has counted today. */
export async function dayUsed(redis: RedisClient, keyHash: string): Promise<number> {
  return Number(await redis.get(dayCounter(keyHash)));
}
