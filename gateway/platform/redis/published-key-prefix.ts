import { keyPrefix } from '../config/key-prefix.ts';
import type { RedisClient } from './redis-client.ts';
import { redisKeys } from './redis-keys.ts';

/** Writes the prefix of this gateway's API keys, so that commands on any machine make and redact keys with it. */
export async function publishKeyPrefix(redis: RedisClient): Promise<void> {
  await redis.set(redisKeys.keyPrefix, keyPrefix());
}

/** @returns the prefix as it was written, perhaps by hand; null if no gateway has written one */
export const readKeyPrefix = (redis: RedisClient): Promise<string | null> => redis.get(redisKeys.keyPrefix);
