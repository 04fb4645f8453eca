import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';

/** A change that an operator made. Never holds an API key: records have none. */
export interface Change {
  /** What was done, such as keys.revoke. */
  action: string;
  /** What it was done to: id of an API key, name of a plan. */
  target: string;
  /** Null where there was nothing. */
  before: unknown;
  /** Null where nothing is left. */
  after: unknown;
}

export interface AuditEntry extends Change {
  /** Of the entry in the stream; later entries have larger ones. */
  id: string;
  /** ISO 8601 in UTC, by Redis' clock. */
  at: string;
  who: string;
}

/**
 * Notes a change before it is made: a command that is killed in between leaves an entry too many, and never a change
 * without one.
 */
export type RecordChange = (change: Change) => Promise<void>;

/** About so many entries are kept; the oldest go first. */
const keptEntries = 100_000;

/** Changes go to a Redis stream, in the name of whoever makes them. */
export function createAuditLog({ redis, who }: { redis: RedisClient; who: string }): RecordChange {
  return async function recordChange({ action, target, before, after }) {
    const fields = {
      who,
      action,
      target,
      before: JSON.stringify(before ?? null),
      after: JSON.stringify(after ?? null),
    };
    await redis.xadd(redisKeys.audit, 'MAXLEN', '~', keptEntries, '*', ...Object.entries(fields).flat());
  };
}

/** The newest entries, oldest of them first. */
export async function readAudit(redis: RedisClient, count: number): Promise<AuditEntry[]> {
  const entries = await redis.xrevrange(redisKeys.audit, '+', '-', 'COUNT', count);
  return entries.map(parseEntry).toReversed();
}

const blockMs = 1000;
const batchSize = 100;

/** Entries that came after the given one; where there are none yet, waits a second for some. */
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
    at: timeOf(id),
    who: text('who'),
    action: text('action'),
    target: text('target'),
    before: parseJson(text('before')),
    after: parseJson(text('after')),
  };
}

/** The time within an entry's id; an id that was made by hand may hold none. */
function timeOf(id: string): string {
  const time = new Date(Number(id.split('-')[0]));
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}

/** An entry that somebody added by hand may hold anything. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
