import { z } from 'zod';
import { defineSetting, mapping, missingOr, trueOrFalse, wholeNumber } from '../redis/define-setting.ts';
import type { LiveSetting } from '../redis/live-setting.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { usageSetting } from './usage-policy.ts';

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
} as const;

const { strikesPerLimit } = banPolicyBounds;
const strikesPerLimitError = missingOr(
  `is not a number from ${strikesPerLimit.min} to ${strikesPerLimit.max} with up to three decimals`,
);

/**
 * When and for how long an API key is banned for going on after 429 (specification section 8.4). A strike is a refused
 * request that arrives more than the grace period after the first refusal since the customer's last allowed request.
 * By default, no client that waits for Retry-After or backs off is banned, even if 16 of them share a key.
 */
export const banPolicySetting = defineSetting({
  name: 'banPolicy',
  key: redisKeys.banPolicy,
  action: 'policy.set',
  seedAction: 'policy.seed',
  target: redisKeys.banPolicy,
  title: 'ban policy',
  advice:
    'if there are none, a gateway that starts uses the default, and sets it if none was ever set; see: ops policy set --help',
  values: z
    .strictObject(
      {
        enabled: trueOrFalse('false switches new bans off'),
        graceSeconds: wholeNumber(
          banPolicyBounds.graceSeconds,
          'seconds after the first refusal in which none is a strike',
        ),
        strikes: wholeNumber(
          banPolicyBounds.strikes,
          'strikes (refused requests after the grace period) that lead to a ban',
        ),
        // Lua and JavaScript calculate exactly enough with three decimals.
        strikesPerLimit: z
          .number({ error: strikesPerLimitError })
          .min(strikesPerLimit.min, { error: strikesPerLimitError })
          .max(strikesPerLimit.max, { error: strikesPerLimitError })
          .refine((value) => /^\d+(\.\d{1,3})?$/.test(String(value)), { error: strikesPerLimitError })
          .meta({
            description:
              "strikes for each request of the minute limit of the key's customer, if that is more",
          }),
        windowSeconds: wholeNumber(
          banPolicyBounds.windowSeconds,
          'seconds within which the strikes lead to a ban',
        ),
        banSeconds: wholeNumber(
          banPolicyBounds.banSeconds,
          'seconds of the first ban; doubles if the key goes on during it',
        ),
        maxBanSeconds: wholeNumber(
          banPolicyBounds.maxBanSeconds,
          'seconds of the longest ban; at least banSeconds',
        ),
        resetSeconds: wholeNumber(
          banPolicyBounds.resetSeconds,
          'seconds without a ban after which the next one is a first one',
        ),
      },
      mapping('the fields of the ban policy'),
    )
    .refine(({ banSeconds, maxBanSeconds }) => maxBanSeconds >= banSeconds, {
      path: ['maxBanSeconds'],
      error: 'is less than banSeconds',
    })
    .meta({ description: 'when and for how long an API key is banned that goes on after 429' }),
  defaults: {
    enabled: true,
    graceSeconds: 10,
    strikes: 60,
    strikesPerLimit: 1,
    windowSeconds: 60,
    banSeconds: 60,
    maxBanSeconds: 3600,
    resetSeconds: 86_400,
  },
});

export type BanPolicy = z.output<typeof banPolicySetting.values>;
export type LiveBanPolicy = LiveSetting<BanPolicy>;
export const defaultBanPolicy: Readonly<BanPolicy> = banPolicySetting.defaults;

/** @returns the strikes that lead to a ban of a key with this minute limit */
export function strikesToBan({ strikes, strikesPerLimit }: BanPolicy, minuteLimit: number): number {
  return Math.max(strikes, Math.ceil(minuteLimit * strikesPerLimit));
}

/** Formats both policies as consume.lua expects them. */
export function formatPolicies(
  policy: BanPolicy,
  retentionDays = usageSetting.defaults.retentionDays,
): string {
  const values = {
    strikes: policy.enabled ? policy.strikes : 0,
    perLimit: policy.strikesPerLimit,
    graceMs: policy.graceSeconds * 1000,
    windowMs: policy.windowSeconds * 1000,
    banMs: policy.banSeconds * 1000,
    maxBanMs: policy.maxBanSeconds * 1000,
    resetMs: policy.resetSeconds * 1000,
    retention: retentionDays,
  };
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}
