import { z } from 'zod';
import type { InvalidValues } from '../observability/invalid-values.ts';
import { createLiveSetting, type LiveSetting } from '../redis/live-setting.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { defaultUsagePolicy } from './usage-policy.ts';
import { wholeNumberField } from './whole-number-field.ts';

/**
 * When and for how long an API key is banned for going on after 429 (specification section 8.4). A strike is a refused
 * request that arrives more than the grace period after the first refusal since the key's last allowed request.
 */
export interface BanPolicy {
  enabled: boolean;
  /** Time after the first refusal in which clients may notice it. */
  graceSeconds: number;
  /** Strikes that lead to a ban. */
  strikes: number;
  /** Strikes for each request of the key's minute limit that lead to a ban, if that is more than `strikes`. */
  strikesPerLimit: number;
  /** Time within which the strikes lead to a ban: a fixed window that the first strike opens. */
  windowSeconds: number;
  /** Length of the first ban; one that follows a ban during which the key went on is twice as long as that. */
  banSeconds: number;
  /** Length of the longest ban. */
  maxBanSeconds: number;
  /** Time after the end of a ban after which the next one is a first one again. */
  resetSeconds: number;
}

/** No client that waits for Retry-After or backs off is banned, even if 16 of them share a key. */
export const defaultBanPolicy: Readonly<BanPolicy> = {
  enabled: true,
  graceSeconds: 10,
  strikes: 60,
  strikesPerLimit: 1,
  windowSeconds: 60,
  banSeconds: 60,
  maxBanSeconds: 3600,
  resetSeconds: 86_400,
};

/** @returns the strikes that lead to a ban of a key with this minute limit */
export function strikesToBan({ strikes, strikesPerLimit }: BanPolicy, minuteLimit: number): number {
  return Math.max(strikes, Math.ceil(minuteLimit * strikesPerLimit));
}

const monthSeconds = 30 * 86_400;

/** Smallest and largest value of each number of the policy. */
export const banPolicyBounds = {
  graceSeconds: { min: 0, max: 3600 },
  strikes: { min: 1, max: 1_000_000 },
  strikesPerLimit: { min: 0, max: 1000 },
  windowSeconds: { min: 1, max: 3600 },
  banSeconds: { min: 1, max: monthSeconds },
  maxBanSeconds: { min: 1, max: monthSeconds },
  resetSeconds: { min: 1, max: monthSeconds },
} as const satisfies Record<Exclude<keyof BanPolicy, 'enabled'>, { min: number; max: number }>;

const wholeNumber = ({ min, max }: { min: number; max: number }) => wholeNumberField(max, min);

/** @param text of a number from 0 on. Lua and JavaScript calculate exactly enough with three decimals. */
export function isStrikesPerLimit(text: string): boolean {
  return /^\d{1,4}(\.\d{1,3})?$/.test(text) && Number(text) <= banPolicyBounds.strikesPerLimit.max;
}

const enabled = z
  .enum(['true', 'false'], { error: 'is neither true nor false' })
  .transform((text) => text === 'true');

export const banPolicySchema = z
  .object({
    enabled,
    graceSeconds: wholeNumber(banPolicyBounds.graceSeconds),
    strikes: wholeNumber(banPolicyBounds.strikes),
    strikesPerLimit: z
      .string({ error: 'is missing' })
      .refine(isStrikesPerLimit, { error: 'is not a number from 0 to 1000 with up to three decimals' })
      .transform(Number),
    windowSeconds: wholeNumber(banPolicyBounds.windowSeconds),
    banSeconds: wholeNumber(banPolicyBounds.banSeconds),
    maxBanSeconds: wholeNumber(banPolicyBounds.maxBanSeconds),
    resetSeconds: wholeNumber(banPolicyBounds.resetSeconds),
  })
  .refine((policy) => policy.maxBanSeconds >= policy.banSeconds, {
    path: ['maxBanSeconds'],
    error: 'is less than banSeconds',
  });

/**
 * Formats the policies for consume.lua: eight numbers, of which the first is 0 for no bans, and the last is the time for
 * which the use of a key is kept.
 */
export function formatScriptArgument(
  policy: BanPolicy,
  retentionDays = defaultUsagePolicy.retentionDays,
): string {
  const { enabled, strikes, strikesPerLimit } = policy;
  const { graceSeconds, windowSeconds, banSeconds, maxBanSeconds, resetSeconds } = policy;
  const lengths = [graceSeconds, windowSeconds, banSeconds, maxBanSeconds, resetSeconds];
  const lengthsMs = lengths.map((seconds) => seconds * 1000);
  return [enabled ? strikes : 0, strikesPerLimit, ...lengthsMs, retentionDays].join(' ');
}

export type LiveBanPolicy = LiveSetting<BanPolicy>;

export function createLiveBanPolicy(dependencies: {
  redis: RedisClient;
  invalidValues: InvalidValues;
}): LiveBanPolicy {
  return createLiveSetting({
    ...dependencies,
    key: redisKeys.banPolicy,
    schema: banPolicySchema,
    defaultValue: defaultBanPolicy,
  });
}
