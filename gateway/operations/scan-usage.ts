import { mastersOf, type RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import type { ApiKeyIndex } from './api-key-index.ts';

const pageSize = 1000;

/**
 * Finds keys with use in one of the months that the index lacks, such as those that were removed from it 90 days after
 * their end. Each key once, although SCAN may return it more often.
 * @param months months as YYYYMM
 */
export async function* scanUsage(
  redis: RedisClient,
  index: Pick<ApiKeyIndex, 'keyHashOf'>,
  months: readonly string[],
): AsyncGenerator<string[]> {
  const found = new Set<string>();
  for await (const page of scanKeys(redis, redisKeys.usageMonth('*', '*'))) {
    const recorded = page.filter((key) => months.includes(key.slice(-6)));
    const unindexed = await Promise.all(
      recorded.map(async (key) => {
        const keyHash = keyHashOf(key);
        if (keyHash === undefined || found.has(keyHash)) return [];
        const id = await redis.hget(key, 'id').catch(() => null);
        if (id !== null && id !== '' && (await index.keyHashOf(id)) === keyHash) return [];
        return [keyHash];
      }),
    );
    const fresh = new Set(unindexed.flat());
    for (const keyHash of fresh) found.add(keyHash);
    if (fresh.size > 0) yield [...fresh];
  }
}

/** Scans the names of keys on all shards, in pages. A name may come more than once. */
export async function* scanKeys(redis: RedisClient, pattern: string): AsyncGenerator<string[]> {
  for (const master of mastersOf(redis)) {
    let cursor = '0';
    do {
      const [next, keys] = await master.scan(cursor, 'MATCH', pattern, 'COUNT', pageSize);
      yield keys;
      cursor = next;
    } while (cursor !== '0');
  }
}

function keyHashOf(key: string): string | undefined {
  return /\{([\da-f]{64})\}/.exec(key)?.[1];
}
