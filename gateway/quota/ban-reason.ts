import type { RedisClient } from '../platform/redis/redis-client.ts';
import { redisKeys } from '../platform/redis/redis-keys.ts';

const maxLength = 100;

/**
 * Reason of a ban, for the client as well.
 * @param value of the ban in Redis: a number in a gateway's own ban, otherwise what an operator wrote
 * @returns undefined for a gateway's own ban, and without a text
 */
export function operatorsReason(value: string): string | undefined {
  const text = value
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, maxLength);
  return text === '' || consecutiveBan(text) !== undefined ? undefined : text;
}

/** @returns the number of consecutive bans, which is the value of a gateway's own ban */
export function consecutiveBan(value: string): number | undefined {
  return /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}

/**
 * Adds a ban to the index of active bans. The bans themselves are one Redis key each, beside the other keys of their API
 * key, and no script can write to both places in Redis Cluster.
 *
 * @param id of the API key
 * @param endsAtMs Unix milliseconds
 */
export async function indexBan(
  redis: RedisClient,
  id: string,
  endsAtMs: number,
  nowMs: number,
): Promise<void> {
  await Promise.all([
    redis.zadd(redisKeys.bans, endsAtMs, id),
    redis.zremrangebyscore(redisKeys.bans, '-inf', nowMs),
  ]);
}
