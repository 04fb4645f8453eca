import { z } from 'zod';
import type { ApiKeyRecord } from '../api-keys/api-key-record.ts';
import { issueOf, parseLimit, type SomeLimits } from '../limits/limits.ts';
import { windowFields } from '../limits/window-fields.ts';
import { byWindow, forRequired, windowOf, windows, type ByWindow } from '../limits/windows.ts';
import { enterprisePlan } from '../plans/plan-settings.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { readEnforcedValues } from './enforced-values.ts';
import { readPlanLimits } from './plans.ts';
import type { ReadingSession } from './session.ts';

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

/** Limit of each required window, and of others that have one. */
export const limitsInForceSchema = z.object(windowFields(() => limitInForceSchema)).meta({ id: 'KeyLimits' });

export type LimitsInForce = z.infer<typeof limitsInForceSchema>;

type LimitedKey = SomeLimits & Pick<ApiKeyRecord, 'plan'>;

/** Limits of a plan, as they are in Redis and as running gateways enforce them. */
interface PlanTexts {
  stored: ByWindow<string>;
  enforced: ByWindow<string>;
}

/** Creates a reader of limits that reads each plan once. */
export function createLimitsReader({
  redis,
  now,
}: ReadingSession): (key: LimitedKey) => Promise<LimitsInForce> {
  const plans = new Map<string, Promise<PlanTexts>>();

  async function readPlan(name: string): Promise<PlanTexts> {
    if (name === enterprisePlan) return { stored: {}, enforced: {} };
    const stored = await readPlanLimits(redis, name);
    const isValid = windows.every((window) => issueOf(window.name, stored[window.name]) === undefined);
    const enforced = isValid ? undefined : await readEnforcedValues({ redis, now });
    return { stored, enforced: enforced?.of(redisKeys.plan(name))[0] ?? {} };
  }

  return async function limitsInForce(key) {
    const texts = plans.get(key.plan) ?? readPlan(key.plan);
    plans.set(key.plan, texts);
    const { stored, enforced } = await texts;
    const limits = byWindow((name) => {
      const limit = choose(key[name], stored[name], enforced[name]);
      return limit.limit === null && !windowOf(name).required ? undefined : limit;
    });
    return { ...forRequired(unknownLimit), ...limits };
  };
}

/** Limits in force as Redis has them: one of the plan that is invalid is absent. */
export async function readStoredLimits(redis: RedisClient, key: LimitedKey): Promise<SomeLimits> {
  const texts = await readPlanLimits(redis, key.plan);
  return byWindow((name) => key[name] ?? parseLimit(texts[name]));
}

const unknownLimit: LimitInForce = { limit: null, from: null, plan: null };

/** Limits in force without where they come from; one that is not known is absent. */
export function knownLimitsIn(limits: LimitsInForce): SomeLimits {
  return byWindow((name) => limits[name]?.limit ?? undefined);
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
