import type { ApiKeyRecord } from '../api-keys/api-key-record.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import {
  formatPlace,
  isCustomerId,
  parsePlace,
  redisKeys,
  type CustomerId,
  type KeyPlace,
} from '../redis/redis-keys.ts';
import { scoredMembers } from '../redis/scored-members.ts';
import { UnknownKey } from './invalid-operation.ts';
import { assertNotApiKey } from './pasted-key.ts';
import type { ReadingSession } from './session.ts';

/** Entry of the index, which leads from an id to a record. */
export interface IndexedKey {
  id: string;
  /** Undefined while the key is being issued. */
  place: KeyPlace | undefined;
}

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
export async function placesOf(
  redis: RedisClient,
  ids: readonly string[],
): Promise<(KeyPlace | undefined)[]> {
  if (ids.length === 0) return [];
  return (await redis.hmget(apiKeyIds, ...ids)).map((text) => parsePlace(text ?? ''));
}

/** Adds a key. Without a valid time of creation it counts as made now. */
export async function addToIndex(
  { redis, now }: ReadingSession,
  { id, createdAt }: Pick<ApiKeyRecord, 'id' | 'createdAt'>,
  place: KeyPlace,
): Promise<void> {
  // Sent together, to keep the time in which only one of them has the id short.
  await Promise.all([
    redis.set(redisKeys.keyCustomer(place.keyHash), place.customerId),
    redis.hset(apiKeyIds, id, formatPlace(place)),
    redis.zadd(apiKeysByCreation, creationMs(createdAt, now), id),
  ]);
}

/** The same for a customer. */
export async function addCustomerToIndex(
  { redis, now }: ReadingSession,
  { id, createdAt }: { id: CustomerId; createdAt: string },
): Promise<void> {
  await redis.zadd(redisKeys.customers, creationMs(createdAt, now), id);
}

/**
 * Takes the ids of a customer's keys without a record off the indexes: they ended more than 90 days ago. To be called when a
 * customer gets a further key, so that they do not pile up; lists skip what is left of them. A key that is being issued is not
 * among them: its id gets into the set together with its record.
 */
export async function forgetEndedKeys(redis: RedisClient, customer: CustomerId): Promise<void> {
  const ids = await redis.smembers(redisKeys.customerKeys(customer));
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

function creationMs(createdAt: string, now: () => number): number {
  const ms = Date.parse(createdAt);
  return Number.isNaN(ms) ? now() : ms;
}

/**
 * All keys by time of creation, in pages.
 * @param after id of the key before the first page
 * @throws UnknownKey if that key is not in the index
 */
export async function* indexPages(
  { redis }: ReadingSession,
  after: string | undefined,
  size: number,
): AsyncGenerator<IndexedKey[]> {
  let start = 0;
  if (after !== undefined) {
    assertNotApiKey(after);
    const rank = await rankAfter(redis, [after], apiKeysByCreation);
    if (rank === undefined) throw new UnknownKey(after);
    start = rank;
  }
  for await (const entries of pagesFrom(redis, apiKeysByCreation, start, size)) {
    const places = await placesOf(
      redis,
      entries.map(([id]) => id),
    );
    yield entries.map(([id], index) => ({ id, place: places[index] }));
  }
}

/** All customers by time of creation, in pages. */
export async function* customerPages(redis: RedisClient, size: number): AsyncGenerator<CustomerId[]> {
  for await (const page of pagesFrom(redis, redisKeys.customers, 0, size)) {
    yield page.map(([id]) => id).filter(isCustomerId);
  }
}

async function* pagesFrom(redis: RedisClient, index: string, first: number, size: number) {
  for (let start = first; ;) {
    const [from, to] = [String(start), String(start + size - 1)];
    const entries = scoredMembers(await redis.zrange(index, from, to, 'WITHSCORES'));
    if (entries.length === 0) return;
    yield entries;
    const ids = entries.map(([id]) => id);
    start = (await rankAfter(redis, ids, index)) ?? start;
  }
}

/** Rank after the last of the ids that is still in the index: later ones move up when some are removed. */
async function rankAfter(
  redis: RedisClient,
  ids: readonly string[],
  index: string,
): Promise<number | undefined> {
  for (const id of ids.toReversed()) {
    const rank = await redis.zrank(index, id);
    if (rank !== null) return rank + 1;
  }
  return undefined;
}
