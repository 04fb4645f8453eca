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

/** A part of a scan of all masters. */
export interface ScanPart {
  names: string[];
  /** Where to go on; undefined at the end. */
  next: string | undefined;
  /** Redis keys that were looked at, about. */
  scanned: number;
}

interface ScanPartOptions {
  /** `next` of the part before. */
  cursor: string | undefined;
  /** Maximum number of SCAN commands. */
  pages: number;
  /** Number of names after which the part ends; the last SCAN may find up to a thousand more. */
  enough: number;
}

const cursorPattern = /^(\d{1,4}):(\d{1,20})$/;

/** Whether a text may be a cursor of scanRedisKeysFrom. */
export function isScanCursor(text: string): boolean {
  return cursorPattern.test(text);
}

/**
 * Scans a part of the Redis keys, for callers that keep the cursor: no process has to remember the scan. If masters are added or
 * removed meanwhile, some keys may be missed.
 */
export async function scanRedisKeysFrom(
  redis: RedisClient,
  pattern: string,
  { cursor, pages, enough }: ScanPartOptions,
): Promise<ScanPart> {
  const masters = mastersOf(redis);
  const [, at = '0', start = '0'] = cursorPattern.exec(cursor ?? '') ?? [];
  let [index, position] = [Number(at), start];
  const names: string[] = [];
  let page = 0;
  for (; page < pages && names.length < enough; page += 1) {
    const master = masters[index];
    if (master === undefined) break;
    const [next, found] = await master.scan(position, 'MATCH', pattern, 'COUNT', pageSize);
    names.push(...found);
    position = next;
    if (next === '0') index += 1;
  }
  const next = index < masters.length ? `${index}:${position}` : undefined;
  return { names, next, scanned: page * pageSize };
}

/** Redis keys of all masters. */
export async function countRedisKeys(redis: RedisClient): Promise<number> {
  const sizes = await Promise.all(mastersOf(redis).map((master) => master.dbsize()));
  return sizes.reduce((sum, size) => sum + size, 0);
}
