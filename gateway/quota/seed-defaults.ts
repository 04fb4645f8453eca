import { builtInLimits, defaultPlans } from '../plans/plans.ts';
import type { AuditAction } from '../redis/audit-actions.ts';
import type { Setting } from '../redis/define-setting.ts';
import { textFields } from '../redis/enforced-settings.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { ignoreWrongTypes } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { seedSettings, type DefaultSetting } from '../redis/seed-settings.ts';
import { banPolicySetting } from './ban-policy.ts';
import { usageSetting } from './usage-policy.ts';

/** Gateways announce themselves twice a second. */
const otherHeartbeatMs = 750;

const defaults: DefaultSetting[] = [
  ...Object.entries(builtInLimits).map(([name, limits]): DefaultSetting => ({
    key: redisKeys.plan(name),
    fields: textFields(limits),
    action: 'plans.seed',
    target: name,
  })),
  seedOf(banPolicySetting, 'policy.seed'),
  seedOf(usageSetting, 'usage.seed'),
];

function seedOf<Value extends object>(
  { key, defaults }: Setting<Value>,
  action: AuditAction,
): DefaultSetting {
  return { key, fields: textFields(defaults), action, target: key };
}

/**
 * Writes the defaults of plans, ban policy and usage policy that were never set, if no running gateway enforces any
 * (seed-settings.ts).
 * @param who name for the audit log
 * @param heartbeatMs 0 for a Redis that no other gateway uses
 */
export async function seedDefaults(
  redis: RedisClient,
  who: string,
  heartbeatMs = otherHeartbeatMs,
): Promise<void> {
  await ignoreWrongTypes([
    seedSettings({ redis, defaults, who, heartbeatMs }).then(async (written) => {
      if (written) await redis.sadd(redisKeys.planNames, ...Object.keys(defaultPlans));
    }),
  ]);
}
