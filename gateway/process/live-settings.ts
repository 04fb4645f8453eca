import type { Logger } from 'pino';
import type { Limits } from '../limits/limits.ts';
import { createInvalidValues } from '../platform/observability/invalid-values.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import { mergeEnforced, readEnforcedSettings } from '../platform/redis/process-statuses.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { createLiveSetting } from '../platform/redis/settings.ts';
import { createPlans } from '../quota/plans.ts';
import { banPolicySetting, usageSetting } from '../quota/policies.ts';
import { showPlanLimits } from '../request/record-access.ts';

interface LiveSettingsDependencies {
  redis: RedisClient;
  log: Logger;
  metrics: Metrics;
  /** By Redis' clock. */
  now: () => number;
}

/** What operators may set in Redis at any time, as it is in force. */
export function createLiveSettings({ redis, log, metrics, now }: LiveSettingsDependencies) {
  const invalidValues = createInvalidValues(log, (key, issues) =>
    metrics.invalidSettings.set({ key }, issues),
  );
  const live = { redis, invalidValues, readOthers: () => readEnforcedSettings(redis).catch(() => []) };
  const onLimits = (plan: string, limits: Limits) => showPlanLimits(metrics, plan, limits);
  const settings = {
    plans: createPlans({ ...live, now, onLimits }),
    banPolicy: createLiveSetting({ ...live, setting: banPolicySetting }),
    usagePolicy: createLiveSetting({ ...live, setting: usageSetting }),
  };
  return {
    invalidValues,
    ...settings,
    /** What other gateways may take over from this one. */
    enforced: () => mergeEnforced(Object.values(settings).map((setting) => setting.enforced())),
    async refreshSettings(): Promise<void> {
      await Promise.all(Object.values(settings).map((setting) => setting.refresh()));
    },
  };
}
