import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';

/**
 * Notes a ban where operators look for bans. Bans themselves are a key each, beside the other keys of their API
 * key, and Redis Cluster lets no script write to both places.
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
