import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';

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
