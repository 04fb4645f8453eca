import { z } from 'zod';
import { anyRev } from '../../keys/api-key-cache.ts';
import type { CustomerLimits, CustomerRecord } from '../../keys/records.ts';
import { maxLimit, parseLimit } from '../../limits/limits.ts';
import { byWindow, hasWindow, mapWindows, type ByWindow } from '../../limits/windows.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys, type KeyPlace } from '../../platform/redis/redis-keys.ts';
import { enterprisePlan, parsePlanLimits, windowFields } from '../../quota/plan-settings.ts';
import { defaultBanPolicy, type BanPolicy } from '../../quota/policies.ts';
import { readUsage, type Usage } from '../../quota/usage.ts';
import { readEnforcedValues } from '../plans/enforced-values.ts';
import { readPlanLimits } from '../plans/plan-names.ts';
import type { ReadingSession } from '../session.ts';

/** Limit of one window of a customer, and where it comes from. */
export const limitInForceSchema = z
  .object({
    limit: z.int().nullable().describe('Null if it is not known'),
    from: z
      .enum(['customer', 'plan', 'gateways'])
      .nullable()
      .describe('`gateways`: Redis has no valid limit of the plan, and gateways keep the last valid one'),
    plan: z.int().nullable().describe('Limit of the plan in Redis; null if it has no valid one'),
  })
  .meta({ id: 'LimitInForce' });

export type LimitInForce = z.infer<typeof limitInForceSchema>;

/** Limit of each window that has one. */
export const limitsInForceSchema = z
  .object(windowFields(() => limitInForceSchema))
  .meta({ id: 'LimitsInForce' });

export type LimitsInForce = z.infer<typeof limitsInForceSchema>;

/** Limits of a plan, as they are in Redis and as running gateways enforce them; null for an invalid one. */
interface PlanLimits {
  stored: ByWindow<number | null>;
  /** What a gateway enforces in place of invalid ones. */
  enforced: ByWindow<string>;
}

/** Creates a reader of limits that reads each plan once. */
export function createLimitsReader({
  redis,
}: Pick<ReadingSession, 'redis'>): (customer: CustomerLimits) => Promise<LimitsInForce> {
  const plans = new Map<string, Promise<PlanLimits>>();

  async function readPlan(name: string): Promise<PlanLimits> {
    const stored = name === enterprisePlan ? {} : parsePlanLimits(name, await readPlanLimits(redis, name));
    if (!Object.values(stored).includes(null)) return { stored, enforced: {} };
    const enforced = await readEnforcedValues({ redis });
    return { stored, enforced: enforced.of(redisKeys.plan(name))[0] ?? {} };
  }

  return async function limitsInForce(customer) {
    const read = plans.get(customer.plan) ?? readPlan(customer.plan);
    plans.set(customer.plan, read);
    const { stored, enforced } = await read;
    return byWindow((name) =>
      choose(customer[name], stored[name], parseLimit(enforced[name]), hasWindow(enforced)),
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
  if (own !== undefined) return { limit: own, from: 'customer', plan };
  if (stored !== null) return stored === undefined ? undefined : { limit: stored, from: 'plan', plan };
  if (enforced !== undefined) return { limit: enforced, from: 'gateways', plan };
  return isEnforced ? undefined : { limit: null, from: null, plan };
}

/** Use of one window. */
export const windowViewSchema = z
  .object({
    used: z.int(),
    limit: z.int().nullable().describe('Null if it is not known'),
    remaining: z.int().nullable(),
    resetsAt: z.iso.datetime(),
  })
  .meta({ id: 'WindowUse' });

export type WindowView = z.infer<typeof windowViewSchema>;

/** Each window that has a limit. */
export const windowViewsSchema = z.object(windowFields(() => windowViewSchema));

export type WindowViews = z.infer<typeof windowViewsSchema>;

/** A line for each window: what is used of it, and when it ends. */
export const windowTexts = (windows: WindowViews) =>
  mapWindows(windows, ({ used, limit, remaining, resetsAt }) =>
    limit === null
      ? `${used} used; the limit is invalid, see: ops plans list`
      : `${used} of ${limit} used, ${remaining} remaining, resets at ${resetsAt}`,
  );

/** What a customer has used of its windows now, and what one of its keys has done to be banned. */
export interface WindowsNow extends Pick<Usage, 'banMs' | 'strikes' | 'nowMs'> {
  windows: WindowViews;
}

/** Reads them by one Redis command. Counts nothing. @param limits null for one that is not known */
export async function readWindows(
  redis: RedisClient,
  place: KeyPlace,
  limits: ByWindow<number | null>,
  banPolicy: BanPolicy = defaultBanPolicy,
): Promise<WindowsNow> {
  const usage = await readUsage(redis, {
    place,
    rev: anyRev,
    limits: mapWindows(limits, (limit) => limit ?? maxLimit),
    banPolicy,
  });
  if (usage === undefined) throw new Error('read-usage-4.lua compared a rev despite anyRev');
  const { windows, banMs, strikes, nowMs } = usage;
  const views = mapWindows(windows, ({ used, remaining, resetMs }, name): WindowView => {
    const limit = limits[name] ?? null;
    const resetsAt = new Date(nowMs + resetMs).toISOString();
    return { used, limit, remaining: limit === null ? null : remaining, resetsAt };
  });
  return { windows: views, banMs, strikes, nowMs };
}

/** What a customer may use and uses now, with all of its keys together. */
export async function readCustomerUse(
  session: ReadingSession,
  record: CustomerRecord,
  limitsOf = createLimitsReader(session),
) {
  const limits = await limitsOf(record);
  const place = { customerId: record.id, keyHash: '' };
  return { limits, ...(await readWindows(session.redis, place, knownLimitsIn(limits))) };
}
