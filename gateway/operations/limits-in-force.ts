import type { ApiKeyRecord } from '../api-keys/api-key-record.ts';
import { parseLimit, type Limits } from '../plans/limits.ts';
import { enterprisePlan } from '../plans/plans.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { readEnforcedValues } from './enforced-values.ts';
import { readPlanLimits } from './plan-store.ts';
import type { Session } from './session.ts';

/** Limit of one window of a key, and where it comes from. */
export interface LimitInForce {
  /** Null if it is not known. */
  limit: number | null;
  /** `gateways`: Redis has no valid limit of the plan, and running gateways keep the last valid one. */
  from: 'key' | 'plan' | 'gateways' | null;
  /** Limit of the plan in Redis; null if it has no valid one. */
  plan: number | null;
}

export type LimitsInForce = Record<keyof Limits, LimitInForce>;

type LimitedKey = Pick<ApiKeyRecord, 'plan' | 'minute' | 'day'>;

/** Limits of a plan, as they are in Redis and as running gateways enforce them. */
interface PlanTexts {
  stored: Record<keyof Limits, string | null | undefined>;
  enforced: Record<string, string>;
}

/** Creates a reader of limits that reads each plan once. */
export function createLimitsReader({
  redis,
  now,
}: Pick<Session, 'redis' | 'now'>): (key: LimitedKey) => Promise<LimitsInForce> {
  const plans = new Map<string, Promise<PlanTexts>>();

  async function readPlan(name: string): Promise<PlanTexts> {
    if (name === enterprisePlan) return { stored: { minute: null, day: null }, enforced: {} };
    const [minute, day] = await readPlanLimits(redis, name);
    const isValid = parseLimit(minute) !== undefined && parseLimit(day) !== undefined;
    const enforced = isValid ? undefined : await readEnforcedValues({ redis, now });
    return { stored: { minute, day }, enforced: enforced?.of(redisKeys.plan(name))[0] ?? {} };
  }

  return async function limitsInForce({ plan, minute, day }) {
    const texts = plans.get(plan) ?? readPlan(plan);
    plans.set(plan, texts);
    const { stored, enforced } = await texts;
    return {
      minute: choose(minute, stored.minute, enforced['minute']),
      day: choose(day, stored.day, enforced['day']),
    };
  };
}

function choose(
  own: number | undefined,
  storedText: string | null | undefined,
  enforcedText: string | undefined,
): LimitInForce {
  const plan = parseLimit(storedText) ?? null;
  if (own !== undefined) return { limit: own, from: 'key', plan };
  if (plan !== null) return { limit: plan, from: 'plan', plan };
  const enforced = parseLimit(enforcedText) ?? null;
  return { limit: enforced, from: enforced === null ? null : 'gateways', plan };
}
