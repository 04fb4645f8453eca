import { parseJson } from '../redis/parse-json.ts';
import type { Change } from '../redis/record-change.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { auditRange, matchesAudit, type AuditFilter } from './audit-filter.ts';

/** An entry as it is stored, perhaps by hand. */
export interface AuditEntry extends Omit<Change, 'action'> {
  /** Id in the stream. Later entries have larger ones. */
  id: string;
  /** ISO 8601 in UTC, by Redis' clock. */
  at: string;
  who: string;
  action: string;
  /** Why, in the words of the person; undefined if none was given. */
  reason?: string;
  /** Id of an earlier entry, whose change was not made: this entry says so. */
  notMade?: string;
}

const [minPage, maxPage] = [50, 500];

/** Reads the newest entries that match, oldest first. */
export async function readAudit(
  redis: RedisClient,
  count: number,
  filter: AuditFilter = {},
): Promise<AuditEntry[]> {
  return (await readAuditPage(redis, { filter, count })).entries.toReversed();
}

export interface AuditPageOptions {
  filter: AuditFilter;
  count: number;
  /** Id of an entry; only older ones are read. */
  before?: string | undefined;
  /** Entries to look at, whether they match or not. */
  maxScanned?: number;
}

export interface AuditPage {
  /** Newest first. */
  entries: AuditEntry[];
  /** Id of the last entry that was looked at, for `before`; undefined if there are no older ones within the filter's times. */
  next: string | undefined;
}

/** Reads the newest entries that match. */
export async function readAuditPage(
  redis: RedisClient,
  { filter, count, before, maxScanned = Infinity }: AuditPageOptions,
): Promise<AuditPage> {
  const entries: AuditEntry[] = [];
  const { start, end } = auditRange(filter);
  const pageSize = Math.min(maxPage, Math.max(minPage, count));
  let scanned = 0;
  for (let from = before === undefined ? end : `(${before}`; ;) {
    const page = await redis.xrevrange(redisKeys.audit, from, start, 'COUNT', pageSize);
    for (const [index, item] of page.entries()) {
      if (entries.length < count) entries.push(...parseMatching([item], filter));
      const isLast = page.length < pageSize && index === page.length - 1;
      if (entries.length >= count) return { entries, next: isLast ? undefined : item[0] };
    }
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return { entries, next: undefined };
    scanned += page.length;
    if (scanned >= maxScanned) return { entries, next: last[0] };
    from = `(${last[0]}`;
  }
}

/** Reads all entries that match in pages, oldest first, in constant memory. */
export async function* readAuditPages(redis: RedisClient, filter: AuditFilter): AsyncGenerator<AuditEntry[]> {
  const { start, end } = auditRange(filter);
  for (let from = start; ;) {
    const page = await redis.xrange(redisKeys.audit, from, end, 'COUNT', maxPage);
    const last = page.at(-1);
    if (last === undefined) return;
    yield parseMatching(page, filter);
    from = `(${last[0]}`;
  }
}

const blockMs = 1000;
const batchSize = 100;

/** Reads entries after the given one. Waits a second for some if there are none yet. */
export async function readAuditAfter(redis: RedisClient, id: string): Promise<AuditEntry[]> {
  const streams = await redis.xread('COUNT', batchSize, 'BLOCK', blockMs, 'STREAMS', redisKeys.audit, id);
  return (streams?.[0]?.[1] ?? []).map(parseEntry);
}

/** Id of the newest entry, and 0-0 without any: what `readAuditNewer` starts from. */
export async function readLatestAuditId(redis: RedisClient): Promise<string> {
  const [newest] = await redis.xrevrange(redisKeys.audit, '+', '-', 'COUNT', 1);
  return newest?.[0] ?? '0-0';
}

/**
 * Reads the entries after the given one, at most 500, oldest first, without waiting for any: for callers that ask again.
 * @returns those that match, and the id of the last one that was looked at
 */
export async function readAuditNewer(
  redis: RedisClient,
  id: string,
  filter: AuditFilter,
): Promise<{ entries: AuditEntry[]; latest: string }> {
  const page = await redis.xrange(redisKeys.audit, `(${id}`, '+', 'COUNT', maxPage);
  return { entries: parseMatching(page, filter), latest: page.at(-1)?.[0] ?? id };
}

type StreamItem = [id: string, fields: string[]];

/** Parses the values of entries that match only: a filter may leave out most of them. */
function parseMatching(items: readonly StreamItem[], filter: AuditFilter): AuditEntry[] {
  return items.flatMap(([id, fields]) => {
    const texts = textsOf(fields);
    const { who = '', action = '', target = '' } = texts;
    return matchesAudit({ id, who, action, target }, filter) ? [parseEntry([id, fields])] : [];
  });
}

function parseEntry([id, fields]: StreamItem): AuditEntry {
  const { who = '', action = '', target = '', before = '', after = '', reason, notMade } = textsOf(fields);
  return {
    id,
    at: entryTime(id),
    who,
    action,
    target,
    before: recordedValue(before),
    after: recordedValue(after),
    ...(reason === undefined ? {} : { reason }),
    ...(notMade === undefined ? {} : { notMade }),
  };
}

function textsOf(fields: readonly string[]): Partial<Record<string, string>> {
  const texts = new Map<string, string>();
  for (let index = 0; index < fields.length; index += 2) {
    texts.set(fields[index] ?? '', fields[index + 1] ?? '');
  }
  return Object.fromEntries(texts);
}

/** The time in an entry's id. An id that was made by hand may have none. */
function entryTime(id: string): string {
  const time = new Date(Number(id.split('-')[0]));
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}

/** An entry that was added by hand may contain any text. */
function recordedValue(text: string): unknown {
  const value = parseJson(text);
  return value === undefined ? text : value;
}
