import type { RedisClient } from './redis.ts';
import { redisKeys } from './redis-keys.ts';

/** Keys that all of the gateway shares, and what they hold. */
const types: readonly (readonly [key: string, type: string])[] = [
  [redisKeys.apiKeyIds, 'hash'],
  [redisKeys.apiKeysByCreation, 'zset'],
  [redisKeys.planNames, 'set'],
  [redisKeys.bans, 'zset'],
  [redisKeys.audit, 'stream'],
];

/** What is wrong with each of them, undefined where nothing is. */
export async function checkTypes(redis: RedisClient): Promise<{ key: string; fault: string | undefined }[]> {
  const found = await Promise.all(types.map(([key]) => redis.type(key)));
  return types.map(([key, type], index) => ({
    key,
    fault:
      found[index] === type || found[index] === 'none' ? undefined : `is a ${found[index]} and not a ${type}`,
  }));
}

/** Those of them that somebody has edited into another type of value. */
export async function wrongTypes(redis: RedisClient): Promise<{ key: string; fault: string }[]> {
  return (await checkTypes(redis)).flatMap(({ key, fault }) => (fault === undefined ? [] : [{ key, fault }]));
}
