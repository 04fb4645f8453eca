import { z } from 'zod';
import { describeIssues } from '../config/describe-issues.ts';
import type { InvalidValues } from '../observability/invalid-values.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { ignoreWrongTypes, isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { seedSettings } from '../redis/seed-settings.ts';

/** When and for how long an API key is banned for going on after 429 (specification section 8.4). */
export interface BanPolicy {
  enabled: boolean;
  /** Violations that lead to a ban. At most one is counted a second. */
  violations: number;
  /** Time within which the violations lead to a ban. */
  windowSeconds: number;
  /** Length of the first ban; each further one is twice as long. */
  banSeconds: number;
  /** Length of the longest ban. */
  maxBanSeconds: number;
  /** Time after the end of a ban after which the next one is a first one again. */
  resetSeconds: number;
}

/** A client that backs off exponentially from 1 s makes at most 7 violations in 60 s, so it is never banned. */
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
    error: 'is more than windowSeconds, and at most one violation is counted a second',
  });

/** Writes the defaults if Redis has no ban policy yet. */
export async function seedBanPolicy(redis: RedisClient): Promise<void> {
  await ignoreWrongTypes([seedSettings(redis, redisKeys.banPolicy, { ...defaultBanPolicy })]);
}

/** Formats the policy for consume.lua: five numbers, of which the first is 0 for no bans. */
export function formatScriptArgument(policy: BanPolicy): string {
  const { enabled, violations, windowSeconds, banSeconds, maxBanSeconds, resetSeconds } = policy;
  const lengths = [windowSeconds, banSeconds, maxBanSeconds, resetSeconds];
  return [enabled ? violations : 0, ...lengths.map((seconds) => seconds * 1000)].join(' ');
}

export interface LiveBanPolicy {
  current(): BanPolicy;
  /** The policy as consume.lua expects it. Made when the policy is read, and not for each request. */
  scriptArgument(): string;
  /** Reads the policy again. Never rejects: an unreadable or invalid policy leaves the last valid one. */
  refresh(): Promise<void>;
}

interface LiveBanPolicyDependencies {
  redis: RedisClient;
  invalidValues: InvalidValues;
}

export function createLiveBanPolicy({ redis, invalidValues }: LiveBanPolicyDependencies): LiveBanPolicy {
  let current: BanPolicy = defaultBanPolicy;
  let argument = formatScriptArgument(current);
  return {
    current: () => current,
    scriptArgument: () => argument,
    async refresh() {
      let fields: Record<string, string>;
      try {
        fields = await redis.hgetall(redisKeys.banPolicy);
      } catch (error) {
        if (isWrongType(error)) invalidValues.report(redisKeys.banPolicy, ['is not a hash']);
        return;
      }
      const parsed = banPolicySchema.safeParse(fields);
      if (parsed.success) {
        current = parsed.data;
        argument = formatScriptArgument(current);
      }
      invalidValues.report(redisKeys.banPolicy, parsed.success ? [] : describeIssues(parsed.error));
    },
  };
}
