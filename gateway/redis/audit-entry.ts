import type { RedisClient } from './redis-client.ts';
import { redisKeys } from './redis-keys.ts';

/** A change to what operators manage. Never contains an API key, since records have none. */
export interface AuditedChange {
  /** Name of the operation, such as keys.revoke. */
  action: string;
  /** Id of an API key, or name of a plan. */
  target: string;
  /** Null if there was nothing before. */
  before: unknown;
  /** Null if nothing is left. */
  after: unknown;
}

/** Approximate number of entries that are kept. */
const maxEntries = 100_000;

/** Adds an entry to the audit log. */
export async function addAuditEntry(redis: RedisClient, who: string, change: AuditedChange): Promise<void> {
  const { action, target, before, after } = change;
  const fields = {
    who,
    action,
    target,
    before: JSON.stringify(before ?? null),
    after: JSON.stringify(after ?? null),
  };
  await redis.xadd(redisKeys.audit, 'MAXLEN', '~', maxEntries, '*', ...Object.entries(fields).flat());
}
