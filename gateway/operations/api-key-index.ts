import type { ApiKeyRecord } from '../api-keys/api-key-record.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { scoredMembers } from '../redis/scored-members.ts';
import { assertNotApiKey } from './pasted-key.ts';
import { UnknownKey } from './unknown-key.ts';

/** Entry of the index, which leads from an id to a record. */
export interface IndexedKey {
  id: string;
  /** Undefined if only gw:keys has the id. */
  keyHash: string | undefined;
  /** False for a key so new that its record may still be being written. */
  settled: boolean;
}

export interface ApiKeyIndex {
  keyHashOf(id: string): Promise<string | undefined>;
  /** Whether gw:keys has the id. */
  isListed(id: string): Promise<boolean>;
  /** Number of ids in gw:keys and in gw:key-ids: the same, except while keys are being issued. */
  sizes(): Promise<{ listed: number; hashed: number }>;
  /** Adds a key. Without a valid time of creation it counts as made now. */
  add(record: Pick<ApiKeyRecord, 'id' | 'createdAt'>, keyHash: string): Promise<void>;
  /**
   * All keys by time of creation, in pages.
   * @param after id of the key before the first page
   * @throws UnknownKey if that key is not in the index
   */
  pages(after: string | undefined, size: number): AsyncGenerator<IndexedKey[]>;
  /** Removes ids, except those of keys that are being issued. */
  remove(ids: readonly string[]): Promise<void>;
}

/** Maximum time between an entry in the index and its record. */
const issueTimeoutMs = 60_000;

/** Finds keys by id (gw:key-ids) and by age (gw:keys). */
export function createApiKeyIndex({ redis, now }: { redis: RedisClient; now: () => number }): ApiKeyIndex {
  const { apiKeyIds, apiKeysByCreation } = redisKeys;

  /** Rank of the key after the given one. */
  async function rankAfter(id: string): Promise<number | undefined> {
    const rank = await redis.zrank(apiKeysByCreation, id);
    return rank === null ? undefined : rank + 1;
  }

  /** Keys of the page may have been removed since, and then later ones have moved up. */
  async function rankAfterPage(ids: readonly string[]): Promise<number | undefined> {
    for (const id of ids.toReversed()) {
      const rank = await rankAfter(id);
      if (rank !== undefined) return rank;
    }
    return undefined;
  }

  const isSettled = (createdAtMs: number) => createdAtMs <= now() - issueTimeoutMs;

  return {
    async keyHashOf(id) {
      assertNotApiKey(id);
      return (await redis.hget(apiKeyIds, id)) ?? undefined;
    },
    async isListed(id) {
      return (await redis.zscore(apiKeysByCreation, id)) !== null;
    },
    async sizes() {
      const [listed, hashed] = await Promise.all([redis.zcard(apiKeysByCreation), redis.hlen(apiKeyIds)]);
      return { listed, hashed };
    },
    async add({ id, createdAt }, keyHash) {
      const createdAtMs = Date.parse(createdAt);
      const score = Number.isNaN(createdAtMs) ? now() : createdAtMs;
      // Sent together, to keep the time in which only one of them has the id short.
      await Promise.all([redis.hset(apiKeyIds, id, keyHash), redis.zadd(apiKeysByCreation, score, id)]);
    },
    async *pages(after, size) {
      let start = 0;
      if (after !== undefined) {
        assertNotApiKey(after);
        const rank = await rankAfter(after);
        if (rank === undefined) {
          throw new UnknownKey(after);
        }
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
          settled: isSettled(createdAtMs),
        }));
        start = (await rankAfterPage(ids)) ?? start;
      }
    },
    async remove(ids) {
      const scores = await Promise.all(ids.map((id) => redis.zscore(apiKeysByCreation, id)));
      const settled = ids.filter((_id, index) => isSettled(Number(scores[index])));
      if (settled.length === 0) return;
      await Promise.all([redis.zrem(apiKeysByCreation, ...settled), redis.hdel(apiKeyIds, ...settled)]);
    },
  };
}
