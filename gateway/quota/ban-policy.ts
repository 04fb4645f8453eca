import { z } from 'zod';
import { banPolicyFields, strikesToBan, type BanPolicyField } from '../limits/setting-fields.ts';
import { defineSetting, mapping, missingOr, trueOrFalse, wholeNumber } from '../redis/define-setting.ts';
import type { LiveSetting } from '../redis/live-setting.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { usageSetting } from './usage-policy.ts';

const { strikesPerLimit } = banPolicyFields;
const strikesPerLimitError = missingOr(
  `is not a number from ${strikesPerLimit.min} to ${strikesPerLimit.max} with up to three decimals`,
);

/** Smallest and largest value of each number of the policy. */
export const banPolicyBounds = Object.fromEntries(
  Object.entries(banPolicyFields).map(([name, { min, max }]) => [name, { min, max }]),
);

const whole = (field: BanPolicyField) => wholeNumber(banPolicyFields[field]);

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
        graceSeconds: whole('graceSeconds'),
        strikes: whole('strikes'),
        // Lua and JavaScript calculate exactly enough with three decimals.
        strikesPerLimit: z
          .number({ error: strikesPerLimitError })
          .min(strikesPerLimit.min, { error: strikesPerLimitError })
          .max(strikesPerLimit.max, { error: strikesPerLimitError })
          .refine((value) => /^\d+(\.\d{1,3})?$/.test(String(value)), { error: strikesPerLimitError })
          .meta({ description: strikesPerLimit.meaning }),
        windowSeconds: whole('windowSeconds'),
        banSeconds: whole('banSeconds'),
        maxBanSeconds: whole('maxBanSeconds'),
        resetSeconds: whole('resetSeconds'),
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

/** Strikes that lead to a ban; null if there are none, since bans are off or the policy or the limit is not known. */
export function strikesBeforeBan(
  policy: BanPolicy | undefined,
  minuteLimit: number | null | undefined,
): number | null {
  if (policy === undefined || !policy.enabled || typeof minuteLimit !== 'number') return null;
  return strikesToBan(policy, minuteLimit);
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
