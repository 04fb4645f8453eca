import { dayNumberOf } from '../limits/utc-day.ts';
import { datesByMonth, dayUsage, readUsageDays, readUsageMonth, type DayUsage } from '../quota/usage-days.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { indexPages, keyHashOf } from './api-key-index.ts';
import { scanUsage } from './scan-usage.ts';
import type { Session } from './session.ts';
import { showStoredKey } from './stored-keys.ts';
import { readRetentionDays } from './usage-retention-store.ts';

/** UTC days as numbers of days since the Unix epoch, both included. */
export interface Days {
  from: number;
  to: number;
}

/** Use of one key on one day, as an export has it. */
export interface UsageRow extends DayUsage {
  /** Id of the API key; empty if it is not known any more. */
  id: string;
  name: string;
}

/** Records of a month that are read at once: Redis executes them one after the other, while requests wait. */
const pageMonths = 100;

/** Reads each day of a range, oldest first. Days without use, and those older than the retention, have zeros. */
export async function readDays(
  session: Pick<Session, 'redis' | 'now'>,
  keyHash: string,
  { from, to }: Days,
): Promise<DayUsage[]> {
  return readUsageDays(session.redis, keyHash, { first: from, last: to, oldest: await oldestDay(session) });
}

/** Reads each of the last days, oldest first, today included. */
export function readLastDays(
  session: Pick<Session, 'redis' | 'now'>,
  keyHash: string,
  count: number,
): Promise<DayUsage[]> {
  const today = dayNumberOf(session.now());
  return readDays(session, keyHash, { from: today - count + 1, to: today });
}

/**
 * Finds the hash of a key, also of one whose record is gone.
 * @throws InvalidOperation if there is no such key
 */
export async function findKeyHash({ redis }: Pick<Session, 'redis'>, id: string): Promise<string> {
  return (await keyHashOf(redis, id)) ?? (await showStoredKey(redis, id)).keyHash;
}

/**
 * All days with use of all keys in pages, by creation of the key and then by date. Keys that are not in the index any more
 * come last. Takes the memory of a page, whatever the number of keys.
 * @param onProgress called with the number of keys that are done, of those in the index
 */
export async function* exportUsage(
  session: Pick<Session, 'redis' | 'now'>,
  days: Days,
  onProgress: (keys: number) => void,
): AsyncGenerator<UsageRow[]> {
  for await (const { keys, done } of readUseByKey(session, days)) {
    yield keys.flat();
    onProgress(done);
  }
}

/** Use of some keys. */
export interface UsePage {
  /** Rows of each key, which has no others. */
  keys: UsageRow[][];
  /** Number of keys that are done, of those in the index. */
  done: number;
}

/** As exportUsage, key by key. */
export async function* readUseByKey(
  session: Pick<Session, 'redis' | 'now'>,
  { from, to }: Days,
): AsyncGenerator<UsePage> {
  const { redis } = session;
  const dates = datesByMonth(Math.max(from, await oldestDay(session)), to);
  const pageSize = Math.max(1, Math.floor(pageMonths / Math.max(1, dates.size)));
  let done = 0;
  for await (const page of indexPages(session, undefined, pageSize)) {
    const keys = await Promise.all(
      page.map(async ({ id, keyHash }) => (keyHash === undefined ? [] : readRows(redis, keyHash, dates, id))),
    );
    done += page.length;
    yield { keys, done };
  }
  for await (const keyHashes of scanUsage(redis, [...dates.keys()])) {
    yield { keys: await Promise.all(keyHashes.map((keyHash) => readRows(redis, keyHash, dates))), done };
  }
}

async function readRows(
  redis: RedisClient,
  keyHash: string,
  datesByMonth: ReadonlyMap<string, readonly string[]>,
  knownId?: string,
): Promise<UsageRow[]> {
  const months = await Promise.all(
    Array.from(datesByMonth, async ([month, dates]) => {
      const record = await readUsageMonth(redis, redisKeys.usageMonth(keyHash, month));
      return { record, dates };
    }),
  );
  const days: DayUsage[] = [];
  let recorded = { id: '', name: '' };
  for (const { record, dates } of months) {
    const { fields } = record;
    if (fields.size === 0) continue;
    recorded = { id: fields.get('id') ?? recorded.id, name: fields.get('name') ?? recorded.name };
    for (const date of dates) {
      const use = dayUsage(record, date);
      if (use.served + use.refused + use.bannedSeconds > 0) days.push(use);
    }
  }
  if (days.length === 0) return [];
  // The record has the present name, in full; that of the month is cut short, and serves when the record is gone.
  const name = (await redis.hget(redisKeys.apiKey(keyHash), 'name').catch(() => null)) ?? recorded.name;
  const id = knownId ?? recorded.id;
  return days.map((use) => Object.assign({ id, name }, use));
}

/** The oldest day whose use is kept. Older ones may not be deleted yet. */
export async function oldestDay({ redis, now }: Pick<Session, 'redis' | 'now'>): Promise<number> {
  return dayNumberOf(now()) - (await readRetentionDays(redis));
}
