import { z } from 'zod';
import { byPolicyField, retentionField, strikesToBan } from '../limits/setting-fields.ts';
import { redisKeys } from '../platform/redis/redis-keys.ts';
import {
  defineSetting,
  mapping,
  numberValue,
  trueOrFalse,
  type LiveSetting,
} from '../platform/redis/settings.ts';

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
      { enabled: trueOrFalse('false switches new bans off'), ...byPolicyField(numberValue) },
      mapping('the fields of the ban policy'),
    )
    .refine(({ banSeconds, maxBanSeconds }) => maxBanSeconds >= banSeconds, {
      path: ['maxBanSeconds'],
      error: 'is less than banSeconds',
    })
    .meta({ description: 'when and for how long an API key is banned that goes on after 429' }),
  defaults: { enabled: true, ...byPolicyField((field) => field.default) },
});

export type BanPolicy = z.output<typeof banPolicySetting.values>;
export type LiveBanPolicy = LiveSetting<BanPolicy>;
export const defaultBanPolicy: Readonly<BanPolicy> = banPolicySetting.defaults;

/**
 * Strikes that lead to a ban; null if there are none, since bans are off or the policy is not known.
 * @param minuteLimit null if it is not known
 */
export function strikesBeforeBan(
  policy: BanPolicy | undefined,
  minuteLimit: number | null | undefined,
): number | null {
  if (policy === undefined || !policy.enabled || minuteLimit === null) return null;
  return strikesToBan(policy, minuteLimit);
}

/** How long the use of API keys is kept: whole UTC days, besides the present one. */
export const usageSetting = defineSetting({
  name: 'usage',
  key: redisKeys.usagePolicy,
  action: 'usage.retention',
  seedAction: 'usage.seed',
  target: redisKeys.usagePolicy,
  title: 'usage retention',
  advice: `set it with: ops policy set --retention-days ${retentionField.default}`,
  values: z
    .strictObject({ retentionDays: numberValue(retentionField) }, mapping('the field retentionDays'))
    .meta({ description: 'record of the usage of each key and UTC day' }),
  defaults: { retentionDays: retentionField.default },
});

export type UsagePolicy = z.output<typeof usageSetting.values>;
export type LiveUsagePolicy = LiveSetting<UsagePolicy>;
