import type { RedisClient } from './redis-client.ts';
import { busyPrefix, customerIdIn, customerKeysPrefix, placeIn, redisKeys } from './redis-keys.ts';

/** Types of the keys that all instances share. */
const sharedTypes = new Map<string, string>([
  [redisKeys.apiKeyIds, 'hash'],
  [redisKeys.apiKeysByCreation, 'zset'],
  [redisKeys.customers, 'zset'],
  [redisKeys.planNames, 'set'],
  [redisKeys.bans, 'zset'],
  [redisKeys.audit, 'stream'],
  [redisKeys.webhooks, 'hash'],
  [redisKeys.instances, 'zset'],
  [redisKeys.processStatuses, 'hash'],
  [redisKeys.settings, 'set'],
  [redisKeys.keyPrefix, 'string'],
  [redisKeys.setUp, 'string'],
  [redisKeys.consoleSessions, 'hash'],
  [redisKeys.consoleSeen, 'hash'],
  [redisKeys.consoleAddresses, 'zset'],
  [redisKeys.apiTokens, 'hash'],
  [redisKeys.apiTokensSeen, 'hash'],
]);

/** @returns undefined for a key that is not the gateway's, or that may have any type */
function expectedType(key: string): string | undefined {
  const isRecord = placeIn('key', key) !== undefined || customerIdIn(key) !== undefined;
  if (key.startsWith(redisKeys.plan('')) || isRecord) return 'hash';
  if (key.startsWith(customerKeysPrefix)) return 'set';
  return key.startsWith(busyPrefix) ? 'zset' : sharedTypes.get(key);
}

/**
 * Checks the types of the given keys, or of all shared keys.
 * @returns an issue for each key, undefined if its type is right
 */
export async function checkTypes(
  redis: RedisClient,
  keys: readonly string[] = [...sharedTypes.keys()],
): Promise<{ key: string; issue: string | undefined }[]> {
  const types = await Promise.all(keys.map((key) => redis.type(key)));
  return keys.map((key, index) => {
    const [actual, expected] = [types[index], expectedType(key)];
    const isRight = expected === undefined || actual === expected || actual === 'none';
    return { key, issue: isRight ? undefined : `is a ${actual} and not a ${expected}` };
  });
}

/** Keys that were edited into another type of value; of all shared keys if none are given. */
export async function findWrongTypes(
  redis: RedisClient,
  keys?: readonly string[],
): Promise<{ key: string; issue: string }[]> {
  return (await checkTypes(redis, keys)).flatMap(({ key, issue }) =>
    issue === undefined ? [] : [{ key, issue }],
  );
}
