import { z } from 'zod';
import { faultsOf } from '../config/describe-issues.ts';
import type { FaultReport } from '../observability/invalid-values.ts';
import { seedSettings } from '../operations/settings-hash.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType, settleUnlessUnreachable } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';

/** When and for how long an API key is banned for going on after 429 (specification section 8.4). */
export interface BanPolicy {
  enabled: boolean;
  /** Violations that lead to a ban; one is counted a second at most. */
  violations: number;
  /** Within how many seconds they lead to it. */
  windowSeconds: number;
  /** Length of the first ban; each further one is twice as long. */
  banSeconds: number;
  /** Length of the longest ban. */
  maxBanSeconds: number;
  /** Seconds after the end of a ban after which the next one is a first one again. */
  resetSeconds: number;
}

/** A client that backs off exponentially from 1 s makes 7 violations in 60 s at the most, so it is never banned. */
export const defaultBanPolicy: Readonly<BanPolicy> = {
  enabled: true,
  violations: 10,
  windowSeconds: 60,
  banSeconds: 60,
  maxBanSeconds: 3600,
  resetSeconds: 86_400,
};

const wholeNumber = (max: number) =>
  z
    .string({ error: 'is missing' })
    .refine((text) => /^[1-9]\d{0,8}$/.test(text) && Number(text) <= max, {
      error: `is not a whole number from 1 to ${max}`,
      abort: true,
    })
    .transform(Number);

const monthSeconds = 30 * 86_400;

export const banPolicySchema = z
  .object({
    enabled: z
      .enum(['true', 'false'], { error: 'is neither true nor false' })
      .transform((text) => text === 'true'),
    violations: wholeNumber(1000),
    windowSeconds: wholeNumber(3600),
    banSeconds: wholeNumber(monthSeconds),
    maxBanSeconds: wholeNumber(monthSeconds),
    resetSeconds: wholeNumber(monthSeconds),
  })
  .refine((policy) => policy.maxBanSeconds >= policy.banSeconds, {
    path: ['maxBanSeconds'],
    error: 'is less than banSeconds',
  })
  .refine((policy) => policy.violations <= policy.windowSeconds, {
    path: ['violations'],
    error: 'is more than windowSeconds, and one violation is counted a second at most',
  });

/** Writes the defaults where Redis has no value yet. */
export async function seedBanPolicy(redis: RedisClient): Promise<void> {
  await settleUnlessUnreachable([seedSettings(redis, redisKeys.banPolicy, { ...defaultBanPolicy })]);
}

export interface LiveBanPolicy {
  current(): BanPolicy;
  /** Reads the policy again. Never rejects: one that can't be read or used as a whole leaves the last good one. */
  refresh(): Promise<void>;
}

export function createBanPolicy({
  redis,
  faults,
}: {
  redis: RedisClient;
  faults: FaultReport;
}): LiveBanPolicy {
  let current: BanPolicy = defaultBanPolicy;
  return {
    current: () => current,
    async refresh() {
      let fields: Record<string, string>;
      try {
        fields = await redis.hgetall(redisKeys.banPolicy);
      } catch (error) {
        if (isWrongType(error)) faults.report(redisKeys.banPolicy, ['is not a hash']);
        return;
      }
      const parsed = banPolicySchema.safeParse(fields);
      if (parsed.success) current = parsed.data;
      faults.report(redisKeys.banPolicy, parsed.success ? [] : faultsOf(parsed.error));
    },
  };
}
