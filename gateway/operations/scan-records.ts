import type { RedisClient } from '../redis/redis-client.ts';
import { unlessWrongType } from '../redis/redis-errors.ts';
import { placeIn, recordPattern, redisKeys, type KeyPlace } from '../redis/redis-keys.ts';
import { placeOf } from './api-key-index.ts';
import { scanRedisKeys } from './scan-redis-keys.ts';

/** A record as the scan finds it. Fields that it lacks are empty. */
export interface ScannedRecord {
  id: string;
  place: KeyPlace;
  createdAt: string;
}

const samplePages = 10;

/** Scans the records of all shards. */
export async function* scanRecords(redis: RedisClient): AsyncGenerator<ScannedRecord[]> {
  for await (const keys of scanRedisKeys(redis, recordPattern)) {
    const places = keys.flatMap((key) => placeIn('key', key) ?? []);
    yield await Promise.all(places.map((place) => readRecord(redis, place)));
  }
}

async function readRecord(redis: RedisClient, place: KeyPlace): Promise<ScannedRecord> {
  const texts = await unlessWrongType(redis.hmget(redisKeys.apiKey(place), 'id', 'createdAt'), []);
  const [id, createdAt] = texts;
  return { id: id ?? '', place, createdAt: createdAt ?? '' };
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
    const places = await Promise.all(ids.map((id) => placeOf(redis, id)));
    const unindexed = ids.find((_id, position) => places[position] === undefined);
    pages += 1;
    if (unindexed !== undefined || pages === samplePages) return unindexed;
  }
  return undefined;
}
