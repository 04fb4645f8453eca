import type { RecordChange } from '../redis/record-change.ts';
import type { RedisClient } from '../redis/redis-client.ts';

/** What an operation works with. */
export interface Session {
  redis: RedisClient;
  /** Rejects in an operation that only reads. */
  audit: RecordChange;
  /** Unix milliseconds by Redis' clock, which decides. */
  now: () => number;
}

/** What an operation that changes something works with. */
export interface ChangingSession extends Session {
  /** Resolves when all changes so far are on Redis' disk. */
  waitUntilDurable(): Promise<void>;
}

export const readOnlyAudit: RecordChange = () =>
  Promise.reject(new Error('an operation that only reads has changed something'));
