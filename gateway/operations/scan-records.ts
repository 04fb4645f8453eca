import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { keyHashOf as keyHashIn, redisKeys } from '../redis/redis-keys.ts';
import { keyHashOf } from './api-key-index.ts';
import { scanRedisKeys } from './scan-redis-keys.ts';

/** A record as the scan finds it. Fields that it lacks are empty. */
export interface ScannedRecord {
  id: string;
  keyHash: string;
  createdAt: string;
}

const samplePages = 10;

/** Scans the records of all shards. */
export async function* scanRecords(redis: RedisClient): AsyncGenerator<ScannedRecord[]> {
  for await (const keys of scanRedisKeys(redis, redisKeys.apiKey('*'))) {
    const keyHashes = keys.flatMap((key) => keyHashIn(key) ?? []);
    yield await Promise.all(keyHashes.map((keyHash) => readRecord(redis, keyHash)));
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
export async function findUnindexed(redis: RedisClient): Promise<string | undefined> {
  let pages = 0;
  for await (const page of scanRecords(redis)) {
    const ids = page.map(({ id }) => id).filter((id) => id !== '');
    const keyHashes = await Promise.all(ids.map((id) => keyHashOf(redis, id)));
    const unindexed = ids.find((_id, position) => keyHashes[position] === undefined);
    pages += 1;
    if (unindexed !== undefined || pages === samplePages) return unindexed;
  }
  return undefined;
}
