import { z } from 'zod';
import { retentionField } from '../limits/setting-fields.ts';
import { dayMs, dayNumberOf } from '../limits/utc-day.ts';
import { defineSetting, mapping, numberValue } from '../redis/define-setting.ts';
import type { LiveSetting } from '../redis/live-setting.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';

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
  isOptional: true,
});

export type UsagePolicy = z.output<typeof usageSetting.values>;
export type LiveUsagePolicy = LiveSetting<UsagePolicy>;

const longestMonthDays = 31;

/**
 * Gives a Redis key with use, of a month or one day, its expiry, as usage.lua does.
 * @returns 1 if it was set; 0 if there is no such key, or it was named by hand
 */
export async function setUsageExpiry(
  redis: RedisClient,
  key: string,
  retentionDays: number,
): Promise<number> {
  const [, owner = '', year, month, day] =
    /^gw:(?:usage|day):\{(cus_[\w-]{1,96}|totals|ranking)\}:(\d{4})(\d\d)(\d\d)?$/.exec(key) ?? [];
  if (year === undefined) return 0;
  const first = dayNumberOf(Date.UTC(Number(year), Number(month) - 1, Number(day ?? 1)));
  // A month is kept until its last day can be deleted, and for simplicity has 31 days.
  const end = first + (day === undefined ? longestMonthDays : 1);
  const spread = Number.parseInt(owner.slice(4, 8), 16) || 0;
  return redis.expireat(key, (end + retentionDays) * (dayMs / 1000) + spread);
}
