import type { Change } from '../../platform/redis/record-change.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { isCustomerId, redisKeys } from '../../platform/redis/redis-keys.ts';
import { parseJson } from '../../platform/redis/redis-values.ts';
import { assertNotApiKey } from '../keys/pasted-key.ts';
import { readKeyIds } from '../keys/stored-keys.ts';
import type { Session } from '../session.ts';

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

/** Conditions that an entry has to meet, all of them. A field that is undefined matches every entry. */
export interface AuditFilter {
  /** Beginning of the action, such as `keys` or `plans.set`. */
  action?: string | undefined;
  /** Name of a person or program, or id of the program's token, in upper or lower case. */
  who?: string | undefined;
  /** See auditTargets. */
  targets?: readonly string[] | undefined;
  since?: Date | undefined;
  /** Entries before this time. */
  until?: Date | undefined;
}

const [minPage, maxPage] = [50, 500];

/** Reads the newest entries that match, oldest first. */
export async function readAudit(redis: RedisClient, count: number, filter: AuditFilter = {}) {
  return (await readAuditPage(redis, { filter, count })).entries.toReversed();
}

interface AuditPageOptions {
  filter: AuditFilter;
  count: number;
  /** Id of an entry; only older ones are read. */
  before?: string | undefined;
  /** Entries to look at, whether they match or not. */
  maxScanned?: number;
}

/**
 * Reads the newest entries that match, newest first.
 * @returns next: id of the last entry that was looked at, for `before`; null if there are no older ones within the filter's times
 */
export async function readAuditPage(
  redis: RedisClient,
  { filter, count, before, maxScanned = Infinity }: AuditPageOptions,
): Promise<{ entries: AuditEntry[]; next: string | null }> {
  const entries: AuditEntry[] = [];
  const { start, end } = auditRange(filter);
  const pageSize = Math.min(maxPage, Math.max(minPage, count));
  let last = before;
  for (let scanned = 0; scanned < maxScanned; scanned += pageSize) {
    const from = last === undefined ? end : `(${last}`;
    const page = await redis.xrevrange(redisKeys.audit, from, start, 'COUNT', pageSize);
    const isEnd = (item: StreamItem) => page.length < pageSize && item === page.at(-1);
    for (const item of page) {
      entries.push(...parseMatching([item], filter));
      if (entries.length >= count) return { entries, next: isEnd(item) ? null : item[0] };
    }
    if (page.length < pageSize) return { entries, next: null };
    last = page.at(-1)?.[0];
  }
  return { entries, next: last ?? null };
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

/** First and last id in the stream that can match, for XRANGE. */
function auditRange({ since, until }: AuditFilter): { start: string; end: string } {
  return {
    start: since === undefined ? '-' : String(Math.max(0, since.getTime())),
    // An id without a sequence number means the last one of that millisecond.
    end: until === undefined ? '+' : String(Math.max(0, until.getTime() - 1)),
  };
}

type StreamItem = [id: string, fields: string[]];

/** What a person or a program can be found by: that is recorded as `billing (token_09c3819fc89b)`. */
const namesOf = (who: string): readonly string[] => /^(.+) \((token_[\da-f]+)\)$/.exec(who) ?? [who];

/** The entries that match. Values are parsed in these only: a filter may leave out most of them. */
function parseMatching(items: readonly StreamItem[], filter: AuditFilter): AuditEntry[] {
  const { action: beginning = '', targets, since, until } = filter;
  const person = filter.who?.trim().toLowerCase();
  return items.flatMap(([id, fields]) => {
    const texts = new Map<string, string>();
    for (let index = 0; index < fields.length; index += 2) {
      texts.set(fields[index] ?? '', fields[index + 1] ?? '');
    }
    const [who = '', action = '', target = ''] = ['who', 'action', 'target'].map((name) => texts.get(name));
    const atMs = Number(id.split('-')[0]);
    const matches =
      action.startsWith(beginning) &&
      (person === undefined || namesOf(who.toLowerCase()).includes(person)) &&
      (targets === undefined || targets.includes(target)) &&
      (since === undefined || atMs >= since.getTime()) &&
      (until === undefined || atMs < until.getTime());
    if (!matches) return [];
    const [reason, notMade] = [texts.get('reason'), texts.get('notMade')];
    return {
      id,
      // An id that was made by hand may have no time.
      at: Math.abs(atMs) <= maxTimeMs ? new Date(atMs).toISOString() : '',
      who,
      action,
      target,
      before: recordedValue(texts.get('before') ?? ''),
      after: recordedValue(texts.get('after') ?? ''),
      ...(reason === undefined ? {} : { reason }),
      ...(notMade === undefined ? {} : { notMade }),
    };
  });
}

const maxTimeMs = 8.64e15;

/** An entry that was added by hand may contain any text. */
function recordedValue(text: string): unknown {
  const value = parseJson(text);
  return value === undefined ? text : value;
}

/**
 * Targets of the entries about an id or a name. For a customer also its keys, since limits can be changed through one of them.
 * @throws InvalidOperation for an API key
 */
export async function auditTargets(target: string, session: Pick<Session, 'redis'>): Promise<string[]> {
  assertNotApiKey(target);
  if (!isCustomerId(target)) return [target];
  return [target, ...(await readKeyIds(session.redis, target))];
}

/** A field that a change has changed. Undefined if the record or setting did not have it. */
export interface ChangedField {
  field: string;
  before: unknown;
  after: unknown;
}

/** Values as fields that have not changed. */
export function unchangedFields(values: object): ChangedField[] {
  return Object.entries(values).map(([field, value]) => ({ field, before: value, after: value }));
}

/** Fields of an entry that differ before and after it. Without `rev`, which every change raises. */
export function changedFields(before: unknown, after: unknown): ChangedField[] {
  const [from, to] = [fieldsOf(before), fieldsOf(after)];
  return Object.keys({ ...from, ...to })
    .filter((name) => name !== 'rev' && JSON.stringify(from[name]) !== JSON.stringify(to[name]))
    .map((name) => ({ field: name, before: from[name], after: to[name] }));
}

export function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
