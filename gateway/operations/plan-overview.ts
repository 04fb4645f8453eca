import { anonymousPlan, enterprisePlan, planIssues } from '../plans/plan-settings.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { readPlans, type ListedPlan } from './plans.ts';
import type { Session } from './session.ts';

/**
 * Whose limits they are: those of each customer on the plan; none, since each customer has its own; or those of an address
 * that sends requests without a valid key.
 */
export const planKinds = ['plan', 'own_limits', 'address'] as const;

export type PlanKind = (typeof planKinds)[number];

/** A plan with what is wrong in Redis. */
export type PlanOverview = ListedPlan & {
  kind: PlanKind;
  /** Which values of the plan were edited into something invalid. Gateways then keep the last valid ones. */
  issues: string[];
};

/** @returns all plans, and the number of gateways that run */
export async function readPlanOverviews(
  session: Session,
): Promise<{ plans: PlanOverview[]; gateways: number }> {
  const { plans, gateways } = await readPlans(session);
  return { plans: await Promise.all(plans.map((plan) => overviewOf(session, plan))), gateways };
}

async function overviewOf({ redis }: Session, plan: ListedPlan): Promise<PlanOverview> {
  const kind = kindOf(plan.name);
  if (kind === 'own_limits') return { ...plan, kind, issues: [] };
  const fields = await redis.hgetall(redisKeys.plan(plan.name));
  return { ...plan, kind, issues: planIssues(plan.name, fields, (text) => `: ${JSON.stringify(text)}`) };
}

function kindOf(name: string): PlanKind {
  if (name === enterprisePlan) return 'own_limits';
  return name === anonymousPlan ? 'address' : 'plan';
}
