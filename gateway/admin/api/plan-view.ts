import { z } from 'zod';
import { listOf } from '../../operations/list-schemas.ts';
import { countPlanCustomers } from '../../operations/plan-customers.ts';
import { planKinds, readPlanOverviews, type PlanOverview } from '../../operations/plan-overview.ts';
import { storedLimitsSchema } from '../../operations/plans.ts';
import type { Session } from '../../operations/session.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { ApiError } from './api-error.ts';
import type { Api } from './route.ts';

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
    customers: z.int().nullable().describe('Customers on it, some seconds old; null for `address`'),
  })
  .meta({ id: 'Plan' });

export const plansSchema = listOf(planSchema).extend({ gateways: z.int().describe('Gateways that run') });

/** With 100,000 customers, a count takes a second or two. */
const countAgeMs = 10_000;

/** Counts the customers of each plan for all consoles of this process. */
export function createPlanCustomers({ read }: Pick<ApiDependencies, 'read'>): Api['planCustomers'] {
  let count: { byPlan: Promise<ReadonlyMap<string, number>>; atMs: number } | undefined;
  return function planCustomers() {
    const nowMs = performance.now();
    if (count === undefined || nowMs - count.atMs > countAgeMs) {
      const byPlan = read(({ redis }) => countPlanCustomers(redis));
      count = { byPlan, atMs: nowMs };
      byPlan.catch(() => (count = undefined));
    }
    return count.byPlan;
  };
}

/** All plans as the API shows them. */
export async function viewPlans({ read, planCustomers }: Api): Promise<z.infer<typeof plansSchema>> {
  const [{ plans, gateways }, customers] = await Promise.all([read(readPlanOverviews), planCustomers()]);
  const items = plans.map(({ enforced = [], ...plan }) =>
    Object.assign(plan, {
      enforced,
      customers: plan.kind === 'address' ? null : (customers.get(plan.name) ?? 0),
    }),
  );
  return { items, next: null, gateways };
}

export const planDetailSchema = planSchema.and(z.object({ running: plansSchema.shape.gateways }));

/** @throws ApiError not_found */
export async function viewPlanDetail(api: Api, name: string): Promise<z.infer<typeof planDetailSchema>> {
  const { items, gateways: running } = await viewPlans(api);
  const plan = items.find((item) => item.name === name);
  if (plan === undefined) throw new ApiError('not_found', { message: 'There is no plan of this name.' });
  return { ...plan, running };
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
