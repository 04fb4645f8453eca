import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
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
  const found: [id: string, keyHash: string][] = [];
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
    for (let at = 0; at < flat.length; at += 2) found.push([flat[at] ?? '', flat[at + 1] ?? '']);
    cursor = next;
  } while (cursor !== '0' && found.length < max && Date.now() < deadlineMs);
  return withNames(redis, found.slice(0, max));
}

async function newestIds(redis: RedisClient, max: number): Promise<NamedId[]> {
  const ids = await redis.zrange(redisKeys.apiKeysByCreation, '0', String(max - 1), 'REV');
  if (ids.length === 0) return [];
  const keyHashes = await redis.hmget(redisKeys.apiKeyIds, ...ids);
  return withNames(
    redis,
    ids.map((id, index) => [id, keyHashes[index] ?? '']),
  );
}

function withNames(redis: RedisClient, ids: readonly [id: string, keyHash: string][]): Promise<NamedId[]> {
  return Promise.all(
    ids.map(async ([id, keyHash]) => {
      const name = await redis.hget(redisKeys.apiKey(keyHash), 'name').catch(() => null);
      return { id, name: name ?? '' };
    }),
  );
}
