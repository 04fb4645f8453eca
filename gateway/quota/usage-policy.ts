import { z } from 'zod';
import { defineSetting, mapping, wholeNumber } from '../redis/define-setting.ts';
import type { LiveSetting } from '../redis/live-setting.ts';
import { redisKeys } from '../redis/redis-keys.ts';

/** Some eleven years. */
export const maxRetentionDays = 4000;

/** How long the use of API keys is kept: whole UTC days, besides the present one. */
export const usageSetting = defineSetting({
  name: 'usage',
  key: redisKeys.usagePolicy,
  action: 'usage.retention',
  seedAction: 'usage.seed',
  target: redisKeys.usagePolicy,
  title: 'usage retention',
  advice: 'set it with: ops usage retention --days 400',
  values: z
    .strictObject(
      {
        retentionDays: wholeNumber(
          { min: 1, max: maxRetentionDays },
          'days for which the usage of each key and day is kept',
        ),
      },
      mapping('the field retentionDays'),
    )
    .meta({ description: 'record of the usage of each key and UTC day' }),
  defaults: { retentionDays: 400 },
});

export type UsagePolicy = z.output<typeof usageSetting.values>;
export type LiveUsagePolicy = LiveSetting<UsagePolicy>;
