import type { ApiKeyRecord } from '../../keys/api-key-record.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import {
  formatPlace,
  isCustomerId,
  parsePlace,
  redisKeys,
  type CustomerId,
  type KeyPlace,
} from '../../platform/redis/redis-keys.ts';
import { scoredPages } from '../bans/scored-pages.ts';
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
export async function placesOf(
  redis: RedisClient,
  ids: readonly string[],
): Promise<(KeyPlace | undefined)[]> {
  if (ids.length === 0) return [];
  return (await redis.hmget(apiKeyIds, ...ids)).map((text) => parsePlace(text ?? ''));
}

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
    redis.zadd(apiKeysByCreation, Date.parse(createdAt), id),
  ]);
}

/** The same for a customer. */
export async function addCustomerToIndex(
  redis: RedisClient,
  { id, createdAt }: { id: CustomerId; createdAt: string },
): Promise<void> {
  await redis.zadd(redisKeys.customers, Date.parse(createdAt), id);
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

/** All customers by time of creation, in pages. */
export async function* customerPages(redis: RedisClient, size: number): AsyncGenerator<CustomerId[]> {
  for await (const page of scoredPages(redis, { key: redisKeys.customers, order: 'ascending', size })) {
    yield page.map(({ member }) => member).filter(isCustomerId);
  }
}
