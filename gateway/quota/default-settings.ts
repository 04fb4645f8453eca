import { defaultPlans } from '../limits/limits.ts';
import { isInUse } from '../platform/redis/enforced-settings.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { redisKeys } from '../platform/redis/redis-keys.ts';
import { seedSettings } from '../platform/redis/seed-settings.ts';
import { markSetUp } from '../platform/redis/set-up-marker.ts';
import { anonymousSetting, builtInPlans } from './plan-settings.ts';
import { banPolicySetting, usageSetting } from './policies.ts';

/** All settings but the plans, in the order of a file of plans. The live value of `anonymous` is that of a plan. */
export const wholeSettings = [anonymousSetting, banPolicySetting, usageSetting] as const;

export type WholeSettingName = (typeof wholeSettings)[number]['name'];

/** Gateways announce themselves twice a second. */
const otherHeartbeatMs = 750;

/** Each once: `anonymous` is in both lists. */
const settings = [...new Set([...builtInPlans.values(), ...wholeSettings])];

/**
 * Sets up a Redis that no running gateway uses: writes the defaults of settings that were never set and that none enforces
 * (seed-settings.ts), and the marker. Running gateways have seen it, so that it is missing means a loss.
 * @param who name for the audit log
 * @param heartbeatMs 0 for a Redis that no other gateway uses
 * @returns whether it was not set up before
 */
export async function seedDefaults(
  redis: RedisClient,
  who: string,
  heartbeatMs = otherHeartbeatMs,
): Promise<boolean> {
  const written = await seedSettings({ redis, settings, who, heartbeatMs });
  if (written) await redis.sadd(redisKeys.planNames, ...Object.keys(defaultPlans));
  return !(await isInUse(redis)) && markSetUp(redis);
}
