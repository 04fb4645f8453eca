import type { ApiKeyRecord } from '../api-keys/api-key-record.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { scoredMembers } from '../redis/scored-members.ts';
import { assertNotApiKey } from './pasted-key.ts';
import type { Session } from './session.ts';
import { UnknownKey } from './unknown-key.ts';

/** What an operation that reads the index works with. */
type Reading = Pick<Session, 'redis' | 'now'>;

/** Entry of the index, which leads from an id to a record. */
export interface IndexedKey {
  id: string;
  /** Undefined if only gw:keys has the id. */
  keyHash: string | undefined;
  /** False for a key so new that its record may still be being written. */
  settled: boolean;
}

/** Maximum time between an entry in the index and its record. */
const issueTimeoutMs = 60_000;
const { apiKeyIds, apiKeysByCreation } = redisKeys;

export async function keyHashOf(redis: RedisClient, id: string): Promise<string | undefined> {
  assertNotApiKey(id);
  return (await redis.hget(apiKeyIds, id)) ?? undefined;
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
  { redis, now }: Reading,
  { id, createdAt }: Pick<ApiKeyRecord, 'id' | 'createdAt'>,
  keyHash: string,
): Promise<void> {
  const createdAtMs = Date.parse(createdAt);
  const score = Number.isNaN(createdAtMs) ? now() : createdAtMs;
  // Sent together, to keep the time in which only one of them has the id short.
  await Promise.all([redis.hset(apiKeyIds, id, keyHash), redis.zadd(apiKeysByCreation, score, id)]);
}

/**
 * All keys by time of creation, in pages.
 * @param after id of the key before the first page
 * @throws UnknownKey if that key is not in the index
 */
export async function* indexPages(
  { redis, now }: Reading,
  after: string | undefined,
  size: number,
): AsyncGenerator<IndexedKey[]> {
  let start = 0;
  if (after !== undefined) {
    assertNotApiKey(after);
    const rank = await rankAfter(redis, [after]);
    if (rank === undefined) throw new UnknownKey(after);
    start = rank;
  }
  for (;;) {
    const [from, to] = [String(start), String(start + size - 1)];
    const entries = scoredMembers(await redis.zrange(apiKeysByCreation, from, to, 'WITHSCORES'));
    if (entries.length === 0) return;
    const ids = entries.map(([id]) => id);
    const keyHashes = await redis.hmget(apiKeyIds, ...ids);
    yield entries.map(([id, createdAtMs], index) => ({
      id,
      keyHash: keyHashes[index] ?? undefined,
      settled: isSettled(createdAtMs, now),
    }));
    start = (await rankAfter(redis, ids)) ?? start;
  }
}

/** Removes ids, except those of keys that are being issued. */
export async function removeFromIndex({ redis, now }: Reading, ids: readonly string[]): Promise<void> {
  const scores = await Promise.all(ids.map((id) => redis.zscore(apiKeysByCreation, id)));
  const settled = ids.filter((_id, index) => isSettled(Number(scores[index]), now));
  if (settled.length === 0) return;
  await Promise.all([redis.zrem(apiKeysByCreation, ...settled), redis.hdel(apiKeyIds, ...settled)]);
}

/** Rank after the last of the ids that is still in the index: later keys move up when some are removed. */
async function rankAfter(redis: RedisClient, ids: readonly string[]): Promise<number | undefined> {
  for (const id of ids.toReversed()) {
    const rank = await redis.zrank(apiKeysByCreation, id);
    if (rank !== null) return rank + 1;
  }
  return undefined;
}

function isSettled(createdAtMs: number, now: () => number): boolean {
  return createdAtMs <= now() - issueTimeoutMs;
}
