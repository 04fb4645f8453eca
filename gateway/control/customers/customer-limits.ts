import { z } from 'zod';
import { anyRev } from '../../keys/api-key-cache.ts';
import type { CustomerLimits, CustomerRecord } from '../../keys/records.ts';
import { maxLimit } from '../../limits/limits.ts';
import { byWindow, mapWindows, type ByWindow } from '../../limits/windows.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import type { KeyPlace } from '../../platform/redis/redis-keys.ts';
import { enterprisePlan, parsePlanLimits, windowFields } from '../../quota/plan-settings.ts';
import { defaultBanPolicy, type BanPolicy } from '../../quota/policies.ts';
import { readUsage } from '../../quota/usage.ts';
import { readPlanLimits } from '../plans/plan-names.ts';

/** Limit of one window of a customer, and where it comes from. */
export const limitInForceSchema = z
  .object({
    limit: z
      .int()
      .nullable()
      .describe('Null if that of the plan is invalid; gateways keep the last valid one'),
    from: z.enum(['customer', 'plan']),
    plan: z.int().nullable().describe('Limit of the plan in Redis; null if it has no valid one'),
  })
  .meta({ id: 'LimitInForce' });

/** Limit of each window that has one. */
export const limitsInForceSchema = z
  .object(windowFields(() => limitInForceSchema))
  .meta({ id: 'LimitsInForce' });

export type LimitsInForce = z.infer<typeof limitsInForceSchema>;

/** Limits of a customer: its own, or those of its plan in Redis. */
export async function readLimits(redis: RedisClient, customer: CustomerLimits): Promise<LimitsInForce> {
  const { plan } = customer;
  const ofPlan = plan === enterprisePlan ? {} : parsePlanLimits(plan, await readPlanLimits(redis, plan));
  return byWindow((name) => {
    const [own, stored] = [customer[name], ofPlan[name]];
    if (own === undefined && stored === undefined) return undefined;
    return {
      limit: own ?? stored ?? null,
      from: own === undefined ? ('plan' as const) : ('customer' as const),
      plan: stored ?? null,
    };
  });
}

/** Limits in force without where they come from; null for one that is not known. */
export const knownLimitsIn = (limits: LimitsInForce) => mapWindows(limits, ({ limit }) => limit);

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

/**
 * Reads what a customer has used of its windows now, and what one of its keys has done to be banned, by one Redis command. Counts
 * nothing.
 * @param limits null for one that is not known
 */
export async function readWindows(
  redis: RedisClient,
  place: KeyPlace,
  limits: ByWindow<number | null>,
  banPolicy: BanPolicy = defaultBanPolicy,
) {
  const usage = await readUsage(redis, {
    place,
    rev: anyRev,
    limits: mapWindows(limits, (limit) => limit ?? maxLimit),
    banPolicy,
  });
  if (usage === undefined) throw new Error('read-usage-4.lua compared a rev despite anyRev');
  const { windows, strikes, nowMs } = usage;
  const views = mapWindows(windows, ({ used, remaining, resetMs }, name): WindowView => {
    const limit = limits[name] ?? null;
    const resetsAt = new Date(nowMs + resetMs).toISOString();
    return { used, limit, remaining: limit === null ? null : remaining, resetsAt };
  });
  return { windows: views, strikes, nowMs };
}

/** What a customer may use and uses now, with all of its keys together. */
export async function readCustomerUse(redis: RedisClient, record: CustomerRecord) {
  const limits = await readLimits(redis, record);
  const place = { customerId: record.id, keyHash: '' };
  return { limits, ...(await readWindows(redis, place, knownLimitsIn(limits))) };
}
