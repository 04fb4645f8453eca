import type { AuditAction } from './audit-actions.ts';
import type { RedisClient } from './redis-client.ts';
import { redisKeys } from './redis-keys.ts';

/** A change of a record or a setting. Never contains an API key, since records have none. */
export interface Change {
  action: AuditAction;
  /** Id of an API key, or name of a plan. */
  target: string;
  /** Null if there was nothing before. */
  before: unknown;
  /** Null if nothing is left. */
  after: unknown;
}

/**
 * Records a change before it is made: an operation that is killed in between leaves an entry without a change, but never
 * a change without an entry.
 */
export type RecordChange = (change: Change) => Promise<void>;

/** Approximate number of entries that are kept. */
const maxEntries = 100_000;

/** Records changes in a Redis stream, in the name of the person who makes them. */
export function createAuditLog({ redis, who }: { redis: RedisClient; who: string }): RecordChange {
  return async function recordChange({ action, target, before, after }) {
    const fields = {
      who,
      action,
      target,
      before: JSON.stringify(before ?? null),
      after: JSON.stringify(after ?? null),
    };
    await redis.xadd(redisKeys.audit, 'MAXLEN', '~', maxEntries, '*', ...Object.entries(fields).flat());
  };
}
