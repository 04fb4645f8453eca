import { mastersOf, type RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { keyHashOf, redisKeys } from '../redis/redis-keys.ts';
import type { ApiKeyIndex } from './api-key-index.ts';

/** A record as the scan finds it. Fields that it lacks are empty. */
export interface ScannedRecord {
  id: string;
  keyHash: string;
  createdAt: string;
}

/** Redis keys for each SCAN, whatever they are. */
const pageSize = 500;
const samplePages = 20;

/** Scans the records of all shards. */
export async function* scanRecords(redis: RedisClient): AsyncGenerator<ScannedRecord[]> {
  for (const master of mastersOf(redis)) {
    let cursor = '0';
    do {
      const [next, keys] = await master.scan(cursor, 'MATCH', redisKeys.apiKey('*'), 'COUNT', pageSize);
      const keyHashes = keys.flatMap((key) => keyHashOf(key) ?? []);
      yield await Promise.all(keyHashes.map((keyHash) => readRecord(redis, keyHash)));
      cursor = next;
    } while (cursor !== '0');
  }
}

async function readRecord(redis: RedisClient, keyHash: string): Promise<ScannedRecord> {
  try {
    const [id, createdAt] = await redis.hmget(redisKeys.apiKey(keyHash), 'id', 'createdAt');
    return { id: id ?? '', keyHash, createdAt: createdAt ?? '' };
  } catch (error) {
    if (isWrongType(error)) return { id: '', keyHash, createdAt: '' };
    throw error;
  }
}

/**
 * Looks for a record that the index lacks, in a sample: enough to notice that much of the index is lost, while only a
 * scan of all of Redis could be certain.
 * @returns the id of such a record
 */
export async function findUnindexed(
  redis: RedisClient,
  index: Pick<ApiKeyIndex, 'keyHashOf'>,
): Promise<string | undefined> {
  let pages = 0;
  for await (const page of scanRecords(redis)) {
    const ids = page.map(({ id }) => id).filter((id) => id !== '');
    const keyHashes = await Promise.all(ids.map((id) => index.keyHashOf(id)));
    const unindexed = ids.find((_id, position) => keyHashes[position] === undefined);
    pages += 1;
    if (unindexed !== undefined || pages === samplePages) return unindexed;
  }
  return undefined;
}
