import { isWellFormedApiKey } from '../api-keys/api-key-format.ts';
import type { ApiKeyRecord } from '../api-keys/api-key-record.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { scoredMembers } from '../redis/scored-members.ts';
import { StoreRefusal } from './invalid-operation.ts';

/** Where a record is: ids are for people, hashes for Redis. */
export interface IndexedKey {
  id: string;
  /** Hexadecimal SHA-256 of the API key; undefined where only half of the index knows the id. */
  sha: string | undefined;
  /** False for a key that is so new that its record may be on its way. */
  settled: boolean;
}

export interface ApiKeyIndex {
  shaOf(id: string): Promise<string | undefined>;
  /** Whether lists have the id, be its hash known or not. */
  isListed(id: string): Promise<boolean>;
  /** How many ids each half has: the same, but for keys that are being issued this moment. */
  sizes(): Promise<{ listed: number; hashed: number }>;
  /** A key whose record does not say when it was made counts as made now. */
  add(record: Pick<ApiKeyRecord, 'id' | 'createdAt'>, sha: string): Promise<void>;
  /**
   * All keys by time of creation, a page at a time, without ever walking through all of Redis.
   * @param after id of the key to begin behind
   * @throws StoreRefusal where that key is not in the index
   */
  pages(after: string | undefined, size: number): AsyncGenerator<IndexedKey[]>;
  /** Takes ids off the index, but not those of keys that are being issued this moment. */
  forget(ids: readonly string[]): Promise<void>;
}

/** Between an entry in the index and its record, at the most. */
const issuePatienceMs = 60_000;

/** Finds keys by id and by age: gw:key-ids and gw:keys. */
export function createApiKeyIndex({ redis, now }: { redis: RedisClient; now: () => number }): ApiKeyIndex {
  const { apiKeyIds, apiKeysByCreation } = redisKeys;

  /** Position of the first key that was made after the given one. */
  async function positionBehind(id: string): Promise<number | undefined> {
    const rank = await redis.zrank(apiKeysByCreation, id);
    return rank === null ? undefined : rank + 1;
  }

  /** Keys may have been forgotten meanwhile, and then those that follow have moved up. */
  async function positionBehindLast(ids: readonly string[]): Promise<number | undefined> {
    for (const id of ids.toReversed()) {
      const position = await positionBehind(id);
      if (position !== undefined) return position;
    }
    return undefined;
  }

  const isSettled = (createdAtMs: number) => createdAtMs <= now() - issuePatienceMs;

  return {
    async shaOf(id) {
      assertNoKey(id);
      return (await redis.hget(apiKeyIds, id)) ?? undefined;
    },
    async isListed(id) {
      return (await redis.zscore(apiKeysByCreation, id)) !== null;
    },
    async sizes() {
      const [listed, hashed] = await Promise.all([redis.zcard(apiKeysByCreation), redis.hlen(apiKeyIds)]);
      return { listed, hashed };
    },
    async add({ id, createdAt }, sha) {
      const createdAtMs = Date.parse(createdAt);
      const score = Number.isNaN(createdAtMs) ? now() : createdAtMs;
      // Sent together, so that nobody sees one without the other for longer than need be.
      await Promise.all([redis.hset(apiKeyIds, id, sha), redis.zadd(apiKeysByCreation, score, id)]);
    },
    async *pages(after, size) {
      let start = 0;
      if (after !== undefined) {
        assertNoKey(after);
        const position = await positionBehind(after);
        if (position === undefined) {
          throw new StoreRefusal(`there is no API key with the id ${JSON.stringify(after)}`);
        }
        start = position;
      }
      for (;;) {
        const [from, to] = [String(start), String(start + size - 1)];
        const entries = scoredMembers(await redis.zrange(apiKeysByCreation, from, to, 'WITHSCORES'));
        if (entries.length === 0) return;
        const ids = entries.map(([id]) => id);
        const shas = await redis.hmget(apiKeyIds, ...ids);
        yield entries.map(([id, createdAtMs], index) => ({
          id,
          sha: shas[index] ?? undefined,
          settled: isSettled(createdAtMs),
        }));
        start = (await positionBehindLast(ids)) ?? start;
      }
    },
    async forget(ids) {
      const scores = await Promise.all(ids.map((id) => redis.zscore(apiKeysByCreation, id)));
      const settled = ids.filter((_id, position) => isSettled(Number(scores[position])));
      if (settled.length === 0) return;
      await Promise.all([redis.zrem(apiKeysByCreation, ...settled), redis.hdel(apiKeyIds, ...settled)]);
    },
  };
}

/** A key that is pasted in place of its id must not get into the slow log of Redis, nor into what is printed. */
function assertNoKey(id: string): void {
  if (!isWellFormedApiKey(id)) return;
  throw new StoreRefusal('that is an API key itself and not the id of one, such as key_…: see ops keys list');
}
