import { builtInPlans, defaultPlans } from '../plans/plan-settings.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { ignoreWrongTypes } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { seedSettings } from '../redis/seed-settings.ts';
import { wholeSettings } from './whole-settings.ts';

/** Gateways announce themselves twice a second. */
const otherHeartbeatMs = 750;

/** Each once: `anonymous` is in both lists. */
const settings = [...new Set([...builtInPlans.values(), ...wholeSettings])];

/**
 * Writes the defaults of settings that were never set, if no running gateway enforces any (seed-settings.ts).
 * @param who name for the audit log
 * @param heartbeatMs 0 for a Redis that no other gateway uses
 */
export async function seedDefaults(
  redis: RedisClient,
  who: string,
  heartbeatMs = otherHeartbeatMs,
): Promise<void> {
  await ignoreWrongTypes([
    seedSettings({ redis, settings, who, heartbeatMs }).then(async (written) => {
      if (written) await redis.sadd(redisKeys.planNames, ...Object.keys(defaultPlans));
    }),
  ]);
}
