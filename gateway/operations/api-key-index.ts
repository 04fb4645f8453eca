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
  /** Undefined if only gw:keys has the id. */
  place: KeyPlace | undefined;
  /** False for a key so new that its record may still be being written. */
  settled: boolean;
}

/** Maximum time between an entry in the index and its record. */
const issueTimeoutMs = 60_000;
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

/** Whether gw:keys has the id. */
export async function isListed(redis: RedisClient, id: string): Promise<boolean> {
  return (await redis.zscore(apiKeysByCreation, id)) !== null;
}

/** Number of ids in gw:keys and in gw:key-ids: the same, except while keys are being issued. */
export async function indexSizes(redis: RedisClient): Promise<{ listed: number; hashed: number }> {
  const [listed, hashed] = await Promise.all([redis.zcard(apiKeysByCreation), redis.hlen(apiKeyIds)]);
  return { listed, hashed };
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
  { redis, now }: ReadingSession,
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
    yield entries.map(([id, createdAtMs], index) => ({
      id,
      place: places[index],
      settled: isSettled(createdAtMs, now),
    }));
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

/**
 * Removes ids, except those of keys that are being issued. They stay among the ids of their customers' keys: gateways tell by
 * it that a key was not lost (lost-keys.ts).
 */
export async function removeFromIndex({ redis, now }: ReadingSession, ids: readonly string[]): Promise<void> {
  const scores = await Promise.all(ids.map((id) => redis.zscore(apiKeysByCreation, id)));
  const settled = ids.filter((_id, index) => isSettled(Number(scores[index]), now));
  if (settled.length === 0) return;
  const places = await placesOf(redis, settled);
  const deserted = await Promise.all(places.map((place) => findDeserted(redis, place)));
  const pointers = deserted.filter((pointer) => pointer !== undefined);
  await Promise.all([
    redis.zrem(apiKeysByCreation, ...settled),
    redis.hdel(apiKeyIds, ...settled),
    ...pointers.map((pointer) => redis.del(pointer)),
  ]);
}

/**
 * Finds what still leads to a place without a record.
 * @returns undefined if nothing does, such as for a key that was issued again for another customer
 */
async function findDeserted(redis: RedisClient, place: KeyPlace | undefined): Promise<string | undefined> {
  if (place === undefined) return undefined;
  const [said, exists] = await Promise.all([
    placeOfHash(redis, place.keyHash),
    redis.exists(redisKeys.apiKey(place)),
  ]);
  const isDeserted = said?.customerId === place.customerId && exists === 0;
  return isDeserted ? redisKeys.keyCustomer(place.keyHash) : undefined;
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

/** Whether an entry of that time has its record by now, if it is to have one. */
export function isSettled(createdAtMs: number, now: () => number): boolean {
  return createdAtMs <= now() - issueTimeoutMs;
}
