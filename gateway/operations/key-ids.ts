import type { RedisClient } from '../redis/redis-client.ts';
import { isCustomerId, parsePlace, redisKeys, type KeyPlace } from '../redis/redis-keys.ts';
import { placesOf } from './api-key-index.ts';
import { keyIdPattern } from './key-input.ts';

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
  if (idPrefix.startsWith(text)) return newestIds(redis, max);
  // Characters with a meaning in a pattern of Redis are in no id.
  if (!keyIdPattern.test(text)) return [];
  const found: [id: string, place: KeyPlace | undefined][] = [];
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
    for (let at = 0; at < flat.length; at += 2) found.push([flat[at] ?? '', parsePlace(flat[at + 1] ?? '')]);
    cursor = next;
  } while (cursor !== '0' && found.length < max && Date.now() < deadlineMs);
  return withNames(redis, found.slice(0, max));
}

async function newestIds(redis: RedisClient, max: number): Promise<NamedId[]> {
  const ids = await redis.zrange(redisKeys.apiKeysByCreation, '0', String(max - 1), 'REV');
  if (ids.length === 0) return [];
  const places = await placesOf(redis, ids);
  return withNames(
    redis,
    ids.map((id, index) => [id, places[index]]),
  );
}

/** Ids of the newest customers, with their names. */
export async function newestCustomers(redis: RedisClient, max: number): Promise<NamedId[]> {
  const ids = await redis.zrange(redisKeys.customers, '0', String(max - 1), 'REV');
  return Promise.all(
    ids.filter(isCustomerId).map(async (id) => {
      const name = await redis.hget(redisKeys.customer(id), 'name').catch(() => null);
      return { id, name: name ?? '' };
    }),
  );
}

function withNames(
  redis: RedisClient,
  ids: readonly [id: string, place: KeyPlace | undefined][],
): Promise<NamedId[]> {
  return Promise.all(
    ids.map(async ([id, place]) => {
      const name = place && (await redis.hget(redisKeys.apiKey(place), 'name').catch(() => null));
      return { id, name: name ?? '' };
    }),
  );
}
