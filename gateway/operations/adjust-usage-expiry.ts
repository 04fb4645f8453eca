import { dayMs, dayNumberOf } from '../quota/utc-day.ts';
import { mastersOf, type RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { scanKeys } from './scan-usage.ts';

/**
 * Gives the use that is stored already the expiry of another retention, which gateways set for new use only. What is older
 * than the retention is deleted. In batches, so that Redis serves requests between them.
 * @param onProgress called with the number of Redis keys that were looked at
 * @returns the number of Redis keys whose expiry was set, or that were deleted
 */
export async function adjustUsageExpiry(
  redis: RedisClient,
  retentionDays: number,
  onProgress: (keys: number) => void = () => {},
): Promise<number> {
  let [adjusted, seen] = [0, 0];
  for (const pattern of [redisKeys.usageMonth('*', '*'), redisKeys.day('*', '*')]) {
    for await (const keys of scanKeys(redis, pattern)) {
      const changes = await Promise.all(
        keys.map(async (key) => {
          const expiresAt = usageExpiry(key, retentionDays);
          return expiresAt === undefined ? 0 : redis.expireat(key, expiresAt);
        }),
      );
      adjusted += changes.reduce((sum, changed) => sum + changed, 0);
      seen += keys.length;
      onProgress(seen);
    }
  }
  return adjusted;
}

/** Number of Redis keys on all shards, of which a scan looks at all. */
export async function countKeys(redis: RedisClient): Promise<number> {
  const sizes = await Promise.all(mastersOf(redis).map((master) => master.dbsize()));
  return sizes.reduce((sum, size) => sum + size, 0);
}

const longestMonthDays = 31;

/** @returns Unix seconds, as in usage.lua; undefined for a key that was named by hand */
function usageExpiry(key: string, retentionDays: number): number | undefined {
  const [, hashStart = '', year, month, day = ''] =
    /^gw:(?:usage|day):\{([\da-f]{4})[\da-f]{60}\}:(\d{4})(\d\d)(\d\d)?$/.exec(key) ?? [];
  if (year === undefined) return undefined;
  const first = dayNumberOf(Date.UTC(Number(year), Number(month) - 1, day === '' ? 1 : Number(day)));
  // A month is kept until its last day can be deleted, and for simplicity has 31 days.
  const end = first + (day === '' ? longestMonthDays : 1);
  return (end + retentionDays) * (dayMs / 1000) + Number.parseInt(hashStart, 16);
}
