import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { defaultBanPolicy, type BanPolicy } from '../../../gateway/quota/policies.ts';
import { createQuotaBatch, formatPolicies, type QuotaBatch } from '../../../gateway/quota/redis-quota.ts';

/** Batches without a gate, and so without a timeout: a busy machine does not count as an outage of Redis. */
export function createOpenBatch(redis: RedisClient, policy: BanPolicy = defaultBanPolicy): QuotaBatch {
  const gate = { open: true, send: <T>(command: () => Promise<T>) => command() };
  return createQuotaBatch({ redis, gate, policies: () => formatPolicies(policy) });
}
