import { adjustUsageExpiry } from '../operations/adjust-usage-expiry.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { withProgressLine } from './progress.ts';

/** Gives stored use the expiry of a new retention, with progress on a terminal. @returns number of Redis keys that changed */
export async function adjustStoredUse(redis: RedisClient, days: number): Promise<number> {
  return withProgressLine('Redis keys', (onProgress) =>
    adjustUsageExpiry(redis, days, ({ scanned, total }) => onProgress(scanned, total)),
  );
}
