import type { RedisClient } from './redis-client.ts';
import { busyPrefix, redisKeys, shaOfApiKey } from './redis-keys.ts';

/** Keys that all of the gateway shares, and what they hold. */
const types = new Map<string, string>([
  [redisKeys.apiKeyIds, 'hash'],
  [redisKeys.apiKeysByCreation, 'zset'],
  [redisKeys.planNames, 'set'],
  [redisKeys.bans, 'zset'],
  [redisKeys.audit, 'stream'],
  [redisKeys.instances, 'zset'],
]);

/** Undefined for a key that is none of the gateway's, or that any type of value will do for. */
function typeOf(key: string): string | undefined {
  if (key.startsWith(redisKeys.plan('')) || shaOfApiKey(key) !== undefined) return 'hash';
  return key.startsWith(busyPrefix) ? 'zset' : types.get(key);
}

/** What is wrong with the type of each key, undefined where nothing is. */
export async function checkTypes(
  redis: RedisClient,
  keys: readonly string[] = [...types.keys()],
): Promise<{ key: string; fault: string | undefined }[]> {
  const found = await Promise.all(keys.map((key) => redis.type(key)));
  return keys.map((key, index) => {
    const [is, wanted] = [found[index], typeOf(key)];
    const fine = wanted === undefined || is === wanted || is === 'none';
    return { key, fault: fine ? undefined : `is a ${is} and not a ${wanted}` };
  });
}

/** Those keys that somebody has edited into another type of value; of all that are shared, if none are given. */
export async function wrongTypes(
  redis: RedisClient,
  keys?: readonly string[],
): Promise<{ key: string; fault: string }[]> {
  return (await checkTypes(redis, keys)).flatMap(({ key, fault }) =>
    fault === undefined ? [] : [{ key, fault }],
  );
}
