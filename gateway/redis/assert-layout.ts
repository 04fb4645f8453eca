import type { RedisClient } from './redis-client.ts';
import { parsePlace, redisKeys } from './redis-keys.ts';

/** @throws Error if Redis holds API keys of a build in which a key had no customer, so that none of them would be known */
export async function assertLayout(redis: RedisClient): Promise<void> {
  const [, flat] = await redis.hscan(redisKeys.apiKeyIds, '0', 'COUNT', '1');
  const [, place = ''] = flat;
  if (parsePlace(place) !== undefined || !/^[\da-f]{64}$/.test(place)) return;
  throw new Error(
    'Redis holds API keys of an unreleased build, in which a key had no customer: export them with that build (ops keys export), ' +
      'start this one with an empty Redis, and import the file (ops keys import)',
  );
}
