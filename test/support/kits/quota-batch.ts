import { createQuotaBatch, type QuotaBatch } from '../../../gateway/quota/quota-batch.ts';
import type { RedisClient } from '../../../gateway/redis/redis-client.ts';

/** Batches without a gate, and so without a timeout: a busy machine does not count as an outage of Redis. */
export function createOpenBatch(redis: RedisClient): QuotaBatch {
  return createQuotaBatch({ redis, gate: { open: true, outages: 0, send: (command) => command() } });
}
