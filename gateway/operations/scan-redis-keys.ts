import { mastersOf, type RedisClient } from '../redis/redis-client.ts';

/** Redis keys for each SCAN, whether they match or not: about a millisecond of Redis' time. */
const pageSize = 1000;

export interface ScanProgress {
  /** Redis keys that were looked at, at most `total`. */
  scanned: number;
  /** Redis keys of all masters when the scan began. */
  total: number;
}

/**
 * Names of the Redis keys of all masters that match a pattern, in pages. A name may come twice. Redis may have millions of
 * keys: this is for what no index has.
 */
export async function* scanRedisKeys(
  redis: RedisClient,
  pattern: string,
  onProgress?: (progress: ScanProgress) => void,
): AsyncGenerator<string[]> {
  const masters = mastersOf(redis);
  const total = onProgress === undefined ? 0 : await countRedisKeys(redis);
  let pages = 0;
  for (const master of masters) {
    let cursor = '0';
    do {
      const [next, keys] = await master.scan(cursor, 'MATCH', pattern, 'COUNT', pageSize);
      yield keys;
      pages += 1;
      onProgress?.({ scanned: Math.min(pages * pageSize, total), total });
      cursor = next;
    } while (cursor !== '0');
  }
}

/** Redis keys of all masters. */
export async function countRedisKeys(redis: RedisClient): Promise<number> {
  const sizes = await Promise.all(mastersOf(redis).map((master) => master.dbsize()));
  return sizes.reduce((sum, size) => sum + size, 0);
}
