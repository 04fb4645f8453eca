import type { RedisClient } from '../redis/redis-client.ts';
import { isCustomerId, redisKeys } from '../redis/redis-keys.ts';
import { keyIdPattern } from './key-input.ts';
import type { Session } from './session.ts';
import { findStoredKey } from './stored-keys.ts';

export interface NamedId {
  id: string;
  name: string;
}

interface KeyIdsOptions {
  /** Maximum number of ids. */
  max: number;
  /** Unix milliseconds at which to return what is found. */
  deadlineMs: number;
}

const idPrefix = 'key_';
/** Ids for each HSCAN: some 5 ms of Redis' time. */
const pageSize = 5000;

/**
 * Ids of keys that begin with a text, with the names of the keys. If the text says nothing about an id yet, those of the
 * newest keys.
 */
export async function keyIdsStartingWith(
  redis: RedisClient,
  text: string,
  { max, deadlineMs }: KeyIdsOptions,
): Promise<NamedId[]> {
  if (idPrefix.startsWith(text)) return newestIds(redis, redisKeys.apiKeysByCreation, max);
  // Characters with a meaning in a pattern of Redis are in no id.
  if (!keyIdPattern.test(text)) return [];
  const found: string[] = [];
  let cursor = '0';
  do {
    const [next, flat] = await redis.hscan(
      redisKeys.apiKeyIds,
      cursor,
      'MATCH',
      `${text}*`,
      'COUNT',
      pageSize,
    );
    found.push(...flat.filter((_text, at) => at % 2 === 0));
    cursor = next;
  } while (cursor !== '0' && found.length < max && Date.now() < deadlineMs);
  return namesOf(redis, found.slice(0, max));
}

/** Ids of the newest keys, or of the newest customers, with their names. */
export async function newestIds(redis: RedisClient, index: string, max: number): Promise<NamedId[]> {
  return namesOf(redis, await redis.zrange(index, '0', String(max - 1), 'REV'));
}

const namesOf = (redis: RedisClient, ids: readonly string[]) =>
  nameKeys(
    { redis },
    ids.map((id) => ({ id })),
  );

/** Adds names to ids of customers and keys. */
export async function nameKeys<Key extends { id: string }>(
  { redis }: Pick<Session, 'redis'>,
  keys: readonly Key[],
): Promise<(Key & { name: string })[]> {
  return Promise.all(
    keys.map(async (key) => {
      if (isCustomerId(key.id)) {
        const name = await redis.hget(redisKeys.customer(key.id), 'name');
        return { ...key, name: name ?? '' };
      }
      return { ...key, name: (await findStoredKey(redis, key.id))?.record.name ?? '' };
    }),
  );
}
