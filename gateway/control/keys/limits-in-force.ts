import { z } from 'zod';
import type { ApiKeyRecord } from '../../keys/api-key-record.ts';
import { parseLimit, type Limits } from '../../limits/limits.ts';
import { windowFields } from '../../limits/window-fields.ts';
import { byWindow, hasWindow, mapWindows, type ByWindow } from '../../limits/windows.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { enterprisePlan, parsePlanLimits } from '../../quota/plan-settings.ts';
import { readEnforcedValues } from '../plans/enforced-values.ts';
import { readPlanLimits } from '../plans/plan-names.ts';
import type { ReadingSession } from '../session.ts';

/** Limit of one window of a key, and where it comes from. */
export const limitInForceSchema = z
  .object({
    limit: z.int().nullable().describe('Null if it is not known'),
    from: z
      .enum(['key', 'plan', 'gateways'])
      .nullable()
      .describe('`gateways`: Redis has no valid limit of the plan, and gateways keep the last valid one'),
    plan: z.int().nullable().describe('Limit of the plan in Redis; null if it has no valid one'),
  })
  .meta({ id: 'LimitInForce' });

export type LimitInForce = z.infer<typeof limitInForceSchema>;

/** Limit of each window that has one. */
export const limitsInForceSchema = z.object(windowFields(() => limitInForceSchema)).meta({ id: 'KeyLimits' });

export type LimitsInForce = z.infer<typeof limitsInForceSchema>;

type LimitedKey = Limits & Pick<ApiKeyRecord, 'plan'>;

/** Limits of a plan, as they are in Redis and as running gateways enforce them; null for an invalid one. */
interface PlanLimits {
  stored: ByWindow<number | null>;
  /** What a gateway enforces in place of invalid ones. */
  enforced: ByWindow<string>;
}

/** Creates a reader of limits that reads each plan once. */
export function createLimitsReader({
  redis,
  now,
}: ReadingSession): (key: LimitedKey) => Promise<LimitsInForce> {
  const plans = new Map<string, Promise<PlanLimits>>();

  async function readPlan(name: string): Promise<PlanLimits> {
    const stored = name === enterprisePlan ? {} : parsePlanLimits(name, await readPlanLimits(redis, name));
    if (!Object.values(stored).includes(null)) return { stored, enforced: {} };
    const enforced = await readEnforcedValues({ redis, now });
    return { stored, enforced: enforced.of(redisKeys.plan(name))[0] ?? {} };
  }

  return async function limitsInForce(key) {
    const read = plans.get(key.plan) ?? readPlan(key.plan);
    plans.set(key.plan, read);
    const { stored, enforced } = await read;
    return byWindow((name) =>
      choose(key[name], stored[name], parseLimit(enforced[name]), hasWindow(enforced)),
    );
  };
}

/** Limits in force without where they come from; null for one that is not known. */
export function knownLimitsIn(limits: LimitsInForce): ByWindow<number | null> {
  return mapWindows(limits, ({ limit }) => limit);
}

/**
 * @param stored null for an invalid one, in place of which the enforced one counts
 * @param isEnforced whether a gateway enforces other limits of the plan, and so knows that it has none for this window
 */
function choose(
  own: number | undefined,
  stored: number | null | undefined,
  enforced: number | undefined,
  isEnforced: boolean,
): LimitInForce | undefined {
  const plan = stored ?? null;
  if (own !== undefined) return { limit: own, from: 'key', plan };
  if (stored !== null) return stored === undefined ? undefined : { limit: stored, from: 'plan', plan };
  if (enforced !== undefined) return { limit: enforced, from: 'gateways', plan };
  return isEnforced ? undefined : { limit: null, from: null, plan };
}
