import { defaultKeyPrefix, keyPrefix } from '../config/key-prefix.ts';
import type { RedisClient } from './redis-client.ts';
import { redisKeys } from './redis-keys.ts';

/** Writes the prefix of this gateway's API keys, so that commands on any machine make and redact keys with it. */
export async function publishKeyPrefix(redis: RedisClient): Promise<void> {
  const key = redisKeys.keyPrefix;
  await (keyPrefix() === defaultKeyPrefix ? redis.del(key) : redis.set(key, keyPrefix()));
}

/** @returns the prefix as it was written, perhaps by hand; the default one if no gateway has written another */
export async function readKeyPrefix(redis: RedisClient): Promise<string> {
  return (await redis.get(redisKeys.keyPrefix)) ?? defaultKeyPrefix;
}
