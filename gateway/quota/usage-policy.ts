import { z } from 'zod';
import { retentionField } from '../limits/setting-fields.ts';
import { defineSetting, mapping, numberValue } from '../platform/redis/define-setting.ts';
import type { LiveSetting } from '../platform/redis/live-setting.ts';
import { redisKeys } from '../platform/redis/redis-keys.ts';

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
