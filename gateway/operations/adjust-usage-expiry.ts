import { dayMs, dayNumberOf } from '../limits/utc-day.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { parseUsageKey, usagePattern } from '../redis/redis-keys.ts';
import { scanRedisKeys, type ScanProgress } from './scan-redis-keys.ts';

/**
 * Gives the use that is stored already the expiry of another retention, which gateways set for new use only. What is older
 * than the retention is deleted. In batches, so that Redis serves requests between them.
 * @returns the number of Redis keys whose expiry was set, or that were deleted
 */
export async function adjustUsageExpiry(
  redis: RedisClient,
  retentionDays: number,
  onProgress?: (progress: ScanProgress) => void,
): Promise<number> {
  let adjusted = 0;
  for await (const keys of scanRedisKeys(redis, usagePattern, onProgress)) {
    const changes = await Promise.all(
      keys.map(async (key) => {
        const expiresAt = usageExpiry(key, retentionDays);
        return expiresAt === undefined ? 0 : redis.expireat(key, expiresAt);
      }),
    );
    adjusted += changes.reduce((sum, changed) => sum + changed, 0);
  }
  return adjusted;
}

const longestMonthDays = 31;

/** @returns Unix seconds, as in usage.lua; undefined for a key that was named by hand */
function usageExpiry(key: string, retentionDays: number): number | undefined {
  const name = parseUsageKey(key);
  if (name === undefined) return undefined;
  const first = dayNumberOf(Date.UTC(name.year, name.month - 1, name.day ?? 1));
  // A month is kept until its last day can be deleted, and for simplicity has 31 days.
  const end = first + (name.day === undefined ? longestMonthDays : 1);
  return (end + retentionDays) * (dayMs / 1000) + (Number.parseInt(name.customerId.slice(4, 8), 16) || 0);
}
