import type { Change } from '../redis/record-change.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';

export interface AuditEntry extends Change {
  /** Id in the stream. Later entries have larger ones. */
  id: string;
  /** ISO 8601 in UTC, by Redis' clock. */
  at: string;
  who: string;
}

/** Reads the newest entries, oldest first. */
export async function readAudit(redis: RedisClient, count: number): Promise<AuditEntry[]> {
  const entries = await redis.xrevrange(redisKeys.audit, '+', '-', 'COUNT', count);
  return entries.map(parseEntry).toReversed();
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
