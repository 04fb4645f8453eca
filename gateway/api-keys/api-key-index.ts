import type { RedisClient } from '../redis/redis.ts';
import { isWellFormedApiKey } from './api-key-format.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { StoreRefusal } from '../store-refusal.ts';

/** Where a record is: ids are for people, hashes for Redis. */
export interface IndexedKey {
  id: string;
  /** Hexadecimal SHA-256 of the API key; undefined where only half of the index knows the id. */
  sha: string | undefined;
}

export interface ApiKeyIndex {
  shaOf(id: string): Promise<string | undefined>;
  /** @param createdAtMs Unix milliseconds */
  add(id: string, sha: string, createdAtMs: number): Promise<void>;
  /**
   * All keys by time of creation, a page at a time, without ever walking through all of Redis.
   * @param after id of the key to begin behind
   * @throws StoreRefusal where that key is not in the index
   */
  pages(after: string | undefined, size: number): AsyncGenerator<IndexedKey[]>;
  /** Takes keys without a record off the index, but not those that are being issued this moment. */
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

  return {
    async shaOf(id) {
      assertNoKey(id);
      return (await redis.hget(apiKeyIds, id)) ?? undefined;
    },
    async add(id, sha, createdAtMs) {
      await redis.hset(apiKeyIds, id, sha);
      await redis.zadd(apiKeysByCreation, createdAtMs, id);
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
        const ids = await redis.zrange(apiKeysByCreation, String(start), String(start + size - 1));
        if (ids.length === 0) return;
        const shas = await redis.hmget(apiKeyIds, ...ids);
        yield ids.map((id, index) => ({ id, sha: shas[index] ?? undefined }));
        start = (await positionBehindLast(ids)) ?? start;
      }
    },
    async forget(ids) {
      for (const id of ids) {
        const createdAtMs = Number(await redis.zscore(apiKeysByCreation, id));
        if (createdAtMs > now() - issuePatienceMs) continue;
        await redis.zrem(apiKeysByCreation, id);
        await redis.hdel(apiKeyIds, id);
      }
    },
  };
}

/** A key that is pasted in place of its id must not get into the slow log of Redis, nor into what is printed. */
function assertNoKey(id: string): void {
  if (!isWellFormedApiKey(id)) return;
  throw new StoreRefusal('that is an API key itself and not the id of one, such as key_…: see ops keys list');
}
