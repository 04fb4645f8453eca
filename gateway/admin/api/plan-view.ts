import { z } from 'zod';
import type { PlanImpact } from '../../operations/plan-impact.ts';
import { planKinds, readPlanOverviews, type PlanOverview } from '../../operations/plan-overview.ts';
import { storedLimitsSchema } from '../../operations/plans.ts';
import type { Session } from '../../operations/session.ts';
import type { PlanTraffic } from '../../operations/traffic.ts';
import { ApiError } from './api-error.ts';
import type { PlanCounts } from './plan-counts.ts';
import { listOf } from './results.ts';

const time = z.iso.datetime().nullable();

/** Progress of a count in the background. */
export const countingSchema = z
  .object({ read: z.int(), total: z.int() })
  .nullable()
  .meta({ id: 'Counting', description: 'A count of keys that is under way; null without one' });

export const planSchema = z
  .object({
    name: z.string(),
    kind: z
      .enum(planKinds)
      .describe('`own_limits`: each customer has its own; `address`: requests without a valid key'),
    ...storedLimitsSchema.shape,
    gateways: z.int().describe('Gateway processes that enforce what is stored'),
    enforced: z
      .array(z.object({ ...storedLimitsSchema.shape, gateways: z.int() }))
      .describe('What other gateways enforce'),
    issues: z.array(z.string()).describe('What is wrong with what is stored'),
    keys: z.int().nullable().describe('Valid keys on it; null until they are counted'),
    lastHour: z.object({
      requests: z.int(),
      refused: z.int().describe('Over a limit, or during a ban'),
      refusedShare: z.number().describe('0 to 1'),
    }),
  })
  .meta({ id: 'Plan' });

const keyCount = { keysAsOf: time, counting: countingSchema };

export const plansSchema = listOf(planSchema).extend({
  gateways: z.int().describe('Gateways that run'),
  ...keyCount,
});

/** All plans as the API shows them. */
export async function viewPlans(session: Session, counts: PlanCounts): Promise<z.infer<typeof plansSchema>> {
  const [{ plans, gateways }, keys, traffic] = await Promise.all([
    readPlanOverviews(session),
    counts.keys(),
    counts.lastHour(),
  ]);
  const { value, asOf, counting } = keys;
  const items = plans.map((plan) => viewPlan(plan, value, traffic));
  return { items, next: null, gateways, keysAsOf: asOf, counting };
}

export const planDetailSchema = planSchema.and(
  z.object({
    running: plansSchema.shape.gateways,
    ...keyCount,
  }),
);

/** @throws ApiError not_found */
export async function viewPlanDetail(
  session: Session,
  name: string,
  counts: PlanCounts,
): Promise<z.infer<typeof planDetailSchema>> {
  const { items, ...rest } = await viewPlans(session, counts);
  const plan = items.find((item) => item.name === name);
  if (plan === undefined) throw new ApiError('not_found', { message: 'There is no plan of this name.' });
  const { gateways: running, keysAsOf, counting } = rest;
  return { ...plan, running, keysAsOf, counting };
}

function viewPlan(
  { name, kind, gateways, enforced = [], issues, ...limits }: PlanOverview,
  impacts: ReadonlyMap<string, Readonly<PlanImpact>> | undefined,
  traffic: Record<string, PlanTraffic>,
) {
  const isForKeys = kind !== 'address';
  return {
    name,
    kind,
    ...limits,
    gateways,
    enforced,
    issues,
    keys: isForKeys && impacts !== undefined ? (impacts.get(name)?.keys ?? 0) : null,
    lastHour: viewTraffic({
      ...traffic[name],
      ...(!isForKeys && { requests: traffic['none']?.requests ?? 0 }),
    }),
  };
}

/** Requests of an hour, and how many of them were refused: over a limit, or during a ban. */
function viewTraffic({ requests = 0, refused = 0 }: Partial<PlanTraffic>) {
  return { requests, refused, refusedShare: requests === 0 ? 0 : refused / requests };
}

/**
 * A plan whose limits can be set.
 * @throws ApiError not_found, and invalid_operation for what is no plan with limits of its own
 */
export async function findEditablePlan(session: Session, name: string): Promise<PlanOverview> {
  const { plans } = await readPlanOverviews(session);
  const plan = plans.find((plan) => plan.name === name);
  switch (plan?.kind) {
    case undefined:
      throw new ApiError('not_found', { message: 'There is no plan of this name.' });
    case 'plan':
      return plan;
    case 'own_limits':
      throw new ApiError('invalid_operation', {
        message: `The plan ${name} has no limits of its own: each key on it has its own limits.`,
      });
    case 'address':
      throw new ApiError('invalid_operation', {
        message: 'This is the limit of an address, and no plan: change it at /api/settings/anonymous.',
      });
  }
}
