import type { AuditLog } from '../platform/redis/record-change.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';

/** What an operation works with. */
export interface Session {
  redis: RedisClient;
  /** Rejects in an operation that only reads. */
  audit: AuditLog;
  /** Unix milliseconds by Redis' clock, which decides. */
  now: () => number;
}

/** What an operation that only reads works with. */
export type ReadingSession = Pick<Session, 'redis' | 'now'>;

const refuse = () => Promise.reject(new Error('an operation that only reads has changed something'));

export const readOnlyAudit: AuditLog = Object.assign(refuse, {
  who: '',
  make: refuse,
});
