import { readApiKey, type ApiKeyRecord, type StoredApiKey } from '../../keys/records.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import {
  formatPlace,
  isCustomerId,
  parsePlace,
  redisKeys,
  type CustomerId,
  type KeyPlace,
} from '../../platform/redis/redis-keys.ts';
import { UnknownKey } from '../invalid-operation.ts';
import { retryOvertaken } from '../overtaken-change.ts';
import { writeRecord } from '../record-change-call.ts';
import { allFound } from '../scored-pages.ts';
import type { Session } from '../session.ts';
import { assertNotApiKey } from './pasted-key.ts';

const { apiKeyIds, apiKeysByCreation } = redisKeys;

export async function placeOf(redis: RedisClient, id: string): Promise<KeyPlace | undefined> {
  assertNotApiKey(id);
  return parsePlace((await redis.hget(apiKeyIds, id)) ?? '');
}

/** Finds the place of an API key by its hash. */
export async function placeOfHash(redis: RedisClient, keyHash: string): Promise<KeyPlace | undefined> {
  const customerId = (await redis.get(redisKeys.keyCustomer(keyHash))) ?? '';
  return isCustomerId(customerId) ? { customerId, keyHash } : undefined;
}

/** The places of several ids, in their order. */
export async function placesOf(redis: RedisClient, ids: readonly string[]) {
  if (ids.length === 0) return [];
  return (await redis.hmget(apiKeyIds, ...ids)).map((text) => parsePlace(text ?? ''));
}

/** Ids of a customer's keys, also of those that have ended. */
export const readKeyIds = (redis: RedisClient, customer: CustomerId) =>
  redis.smembers(redisKeys.customerKeys(customer));

/** Adds a key. */
export async function addToIndex(
  redis: RedisClient,
  { id, createdAt }: Pick<ApiKeyRecord, 'id' | 'createdAt'>,
  place: KeyPlace,
): Promise<void> {
  // Sent together, to keep the time in which only one of them has the id short.
  await Promise.all([
    redis.set(redisKeys.keyCustomer(place.keyHash), place.customerId),
    redis.hset(apiKeyIds, id, formatPlace(place)),
    redis.zadd(apiKeysByCreation, Date.parse(createdAt) || 0, id),
  ]);
}

/**
 * Takes the ids of a customer's keys without a record off the indexes: they ended more than 90 days ago. To be called when a
 * customer gets a further key, so that they do not pile up; lists skip what is left of them. A key that is being issued is not
 * among them: its id gets into the set together with its record.
 */
export async function forgetEndedKeys(redis: RedisClient, customer: CustomerId): Promise<void> {
  const ids = await readKeyIds(redis, customer);
  const places = await placesOf(redis, ids);
  const found = await Promise.all(
    places.map(async (place) => place && redis.exists(redisKeys.apiKey(place))),
  );
  const ended = ids.filter((_id, index) => found[index] === 0);
  if (ended.length === 0) return;
  await forgetKeys(redis, ended);
  await redis.srem(redisKeys.customerKeys(customer), ...ended);
}

/** Takes ids off the indexes of all keys. */
export async function forgetKeys(redis: RedisClient, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await Promise.all([redis.hdel(apiKeyIds, ...ids), redis.zrem(apiKeysByCreation, ...ids)]);
}

/** A key as it is in Redis, and where. */
export interface PlacedKey extends StoredApiKey {
  place: KeyPlace;
}

/** Reads a key. @returns undefined if there is no record @throws UnexpectedValue as readApiKey does */
export async function readStoredKey(redis: RedisClient, place: KeyPlace): Promise<PlacedKey | undefined> {
  const key = await readApiKey(redis, place);
  return key && { ...key, place };
}

/** Reads keys by their ids. Undefined stands for those without a record: they are being issued, or ended more than 90 days ago. */
export async function readEach(redis: RedisClient, ids: readonly string[]) {
  const places = await placesOf(redis, ids);
  return Promise.all(places.map(async (place) => place && readStoredKey(redis, place)));
}

/** The same without those. */
export const readStoredKeys = async (redis: RedisClient, ids: readonly string[]) =>
  (await readEach(redis, ids)).filter((key) => key !== undefined);

/** All keys by time of creation, in pages. */
export const storedKeyPages = (redis: RedisClient) =>
  allFound(redis, { key: apiKeysByCreation, find: (ids) => readEach(redis, ids) });

/** Reads an API key by its hash. */
export async function readKeyOfHash(redis: RedisClient, keyHash: string): Promise<PlacedKey | undefined> {
  const place = await placeOfHash(redis, keyHash);
  return place && readStoredKey(redis, place);
}

/** Reads a key by its id. */
export async function findStoredKey(redis: RedisClient, id: string): Promise<PlacedKey | undefined> {
  const place = await placeOf(redis, id);
  return place && readStoredKey(redis, place);
}

/** The same. @throws UnknownKey if there is no such key */
export async function showStoredKey(redis: RedisClient, id: string): Promise<PlacedKey> {
  const key = await findStoredKey(redis, id);
  if (key === undefined) throw new UnknownKey(id);
  return key;
}

/**
 * Reads, edits what the key has of its own, and writes if nobody wrote in between; otherwise starts again. Audited.
 * @param edit returns the same record if there is nothing to change
 * @throws InvalidOperation as showStoredKey does, and what `edit` throws
 */
export function updateStoredKey(
  session: Pick<Session, 'redis' | 'audit'>,
  id: string,
  action: string,
  edit: (record: ApiKeyRecord) => ApiKeyRecord | Promise<ApiKeyRecord>,
): Promise<ApiKeyRecord> {
  return retryOvertaken(`the key ${id}`, async () => {
    const { place, record: before } = await showStoredKey(session.redis, id);
    const record = await edit(before);
    if (record === before) return before;
    const { customerId, keyHash } = place;
    return writeRecord(session, { action, before }, record, { customerId, key: { keyHash, record } });
  });
}
