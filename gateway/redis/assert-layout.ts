import type { RedisClient } from './redis-client.ts';
import { isReplyError } from './redis-errors.ts';
import { parsePlace, redisKeys } from './redis-keys.ts';

/** @throws Error if Redis holds API keys of a build in which a key had no customer, so that none of them would be known */
export async function assertLayout(redis: RedisClient): Promise<void> {
  const [, flat] = await redis.hscan(redisKeys.apiKeyIds, '0', 'COUNT', '1').catch((error: unknown) => {
    // It was edited into another type of value, which is reported elsewhere.
    if (isReplyError(error)) return ['0', []] as const;
    throw error;
  });
  const [, place = ''] = flat;
  if (parsePlace(place) !== undefined || !/^[\da-f]{64}$/.test(place)) return;
  throw new Error(
    'Redis holds API keys of an unreleased build, in which a key had no customer: export them with that build (ops keys export), ' +
      'start this one with an empty Redis, and import the file (ops keys import)',
  );
}
