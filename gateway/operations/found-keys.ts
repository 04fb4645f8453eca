import { mastersOf, type RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys, shaOfApiKey } from '../redis/redis-keys.ts';
import type { ApiKeyIndex } from './api-key-index.ts';

/** What a record says of itself; empty where it says nothing. */
export interface FoundKey {
  id: string;
  sha: string;
  createdAt: string;
}

/** Of all keys in Redis, whatever they are. */
const pageSize = 500;
const samplePages = 20;

/** All records of all shards, with what they say of themselves. */
export async function* foundKeys(redis: RedisClient): AsyncGenerator<FoundKey[]> {
  for (const master of mastersOf(redis)) {
    let cursor = '0';
    do {
      const [next, keys] = await master.scan(cursor, 'MATCH', redisKeys.apiKey('*'), 'COUNT', pageSize);
      const shas = keys.flatMap((key) => shaOfApiKey(key) ?? []);
      yield await Promise.all(shas.map((sha) => readFound(redis, sha)));
      cursor = next;
    } while (cursor !== '0');
  }
}

async function readFound(redis: RedisClient, sha: string): Promise<FoundKey> {
  try {
    const [id, createdAt] = await redis.hmget(redisKeys.apiKey(sha), 'id', 'createdAt');
    return { id: id ?? '', sha, createdAt: createdAt ?? '' };
  } catch (error) {
    if (isWrongType(error)) return { id: '', sha, createdAt: '' };
    throw error;
  }
}

/**
 * The id of a record that the index does not know, if there is one among the first that come up: enough to notice that
 * much of it is lost, though only all of Redis would tell for sure.
 */
export async function findUnindexed(
  redis: RedisClient,
  index: Pick<ApiKeyIndex, 'shaOf'>,
): Promise<string | undefined> {
  let pages = 0;
  for await (const page of foundKeys(redis)) {
    const ids = page.map(({ id }) => id).filter((id) => id !== '');
    const shas = await Promise.all(ids.map((id) => index.shaOf(id)));
    const unindexed = ids.find((_id, position) => shas[position] === undefined);
    pages += 1;
    if (unindexed !== undefined || pages === samplePages) return unindexed;
  }
  return undefined;
}
