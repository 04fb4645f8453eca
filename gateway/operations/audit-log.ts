import type { Change } from '../redis/record-change.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { auditRange, matchesAudit, type AuditFilter } from './audit-filter.ts';

export interface AuditEntry extends Change {
  /** Id in the stream. Later entries have larger ones. */
  id: string;
  /** ISO 8601 in UTC, by Redis' clock. */
  at: string;
  who: string;
}

const [minPage, maxPage] = [50, 500];

/** Reads the newest entries that match, oldest first. */
export async function readAudit(
  redis: RedisClient,
  count: number,
  filter: AuditFilter = {},
): Promise<AuditEntry[]> {
  const found: AuditEntry[] = [];
  const { start, end } = auditRange(filter);
  const pageSize = Math.min(maxPage, Math.max(minPage, count));
  for (let from = end; ;) {
    const page = await redis.xrevrange(redisKeys.audit, from, start, 'COUNT', pageSize);
    found.push(...page.map(parseEntry).filter((entry) => matchesAudit(entry, filter)));
    const last = page.at(-1);
    if (last === undefined || found.length >= count) return found.slice(0, count).toReversed();
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
    yield page.map(parseEntry).filter((entry) => matchesAudit(entry, filter));
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

function parseEntry([id, fields]: [id: string, fields: string[]]): AuditEntry {
  const values = new Map<string, string>();
  for (let index = 0; index < fields.length; index += 2)
    values.set(fields[index] ?? '', fields[index + 1] ?? '');
  const text = (name: string) => values.get(name) ?? '';
  return {
    id,
    at: entryTime(id),
    who: text('who'),
    action: text('action'),
    target: text('target'),
    before: parseJson(text('before')),
    after: parseJson(text('after')),
  };
}

/** The time in an entry's id. An id that was made by hand may have none. */
function entryTime(id: string): string {
  const time = new Date(Number(id.split('-')[0]));
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}

/** An entry that was added by hand may contain anything. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
