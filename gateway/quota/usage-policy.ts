import { z } from 'zod';
import type { InvalidValues } from '../observability/invalid-values.ts';
import type { HashReader } from '../redis/hash-reader.ts';
import { createLiveSetting, type LiveSetting } from '../redis/live-setting.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { wholeNumberField } from './whole-number-field.ts';

/** How long the use of API keys is kept. */
export interface UsagePolicy {
  /** Whole UTC days, besides the present one. */
  retentionDays: number;
}

export const defaultUsagePolicy: Readonly<UsagePolicy> = { retentionDays: 400 };

/** Some eleven years. */
export const maxRetentionDays = 4000;

export const usagePolicySchema = z.object({ retentionDays: wholeNumberField(maxRetentionDays) });

export type LiveUsagePolicy = LiveSetting<UsagePolicy>;

export function createLiveUsagePolicy(dependencies: {
  redis: RedisClient;
  hashes: HashReader;
  invalidValues: InvalidValues;
}): LiveUsagePolicy {
  return createLiveSetting({
    ...dependencies,
    key: redisKeys.usagePolicy,
    schema: usagePolicySchema,
    defaultValue: defaultUsagePolicy,
  });
}
