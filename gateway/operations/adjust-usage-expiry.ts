import { setUsageExpiry } from '../quota/usage-policy.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { usagePattern } from '../redis/redis-keys.ts';
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
    const changes = await Promise.all(keys.map((key) => setUsageExpiry(redis, key, retentionDays)));
    adjusted += changes.reduce((sum, changed) => sum + changed, 0);
  }
  return adjusted;
}
