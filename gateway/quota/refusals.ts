import { z } from 'zod';
import type { RedisClient } from '../redis/redis-client.ts';
import { unlessWrongType } from '../redis/redis-errors.ts';
import { redisKeys, type CustomerId } from '../redis/redis-keys.ts';
import { parseRefusalRuns, refusalRun } from './refusal-runs.ts';

/** Refused requests of a customer in a row: at most two minutes between them, and an hour in all. */
export const refusalsSchema = z.object({
  from: z.iso.datetime().describe('Time of the first one'),
  to: z.iso.datetime().describe('Time of the last one'),
  refused: z.int(),
  reason: refusalRun.shape.reason.describe('Window that was used up, or a ban'),
});

export type Refusals = z.infer<typeof refusalsSchema>;

const keptMs = 7 * 86_400_000;
/** Redis keeps a number of bytes, which may be some lines more. */
const maxRuns = 50;

/**
 * Reads the last refusals of a customer, newest first: at most 50, of the last seven days. Gateways add theirs every five seconds.
 * A value of Redis that was edited by hand counts as none.
 */
export async function readRefusals(
  { redis, now }: { redis: RedisClient; now: () => number },
  customerId: CustomerId,
): Promise<Refusals[]> {
  const oldestMs = now() - keptMs;
  const text = await unlessWrongType(redis.get(redisKeys.refusals(customerId)), '');
  return parseRefusalRuns(text ?? '')
    .filter(({ toMs }) => toMs >= oldestMs)
    .slice(0, maxRuns)
    .map(({ fromMs, toMs, refused, reason }) => ({
      from: new Date(fromMs).toISOString(),
      to: new Date(toMs).toISOString(),
      refused,
      reason,
    }));
}
