import { limitsView } from '../../operations/key-view.ts';
import type { PlanImpact } from '../../operations/plan-impact.ts';
import { readPlanOverviews, type PlanOverview } from '../../operations/plan-overview.ts';
import type { Session } from '../../operations/session.ts';
import { allRefusals, noRefusals, type PlanTraffic } from '../../operations/traffic-summary.ts';
import type { Trial } from '../../plans/trial.ts';
import { ApiError } from './api-error.ts';
import type { PlanCounts } from './plan-counts.ts';

/** All plans as the API shows them. */
export async function viewPlans(session: Session, counts: PlanCounts) {
  const [{ plans, gateways }, keys, traffic] = await Promise.all([
    readPlanOverviews(session),
    counts.keys(),
    counts.lastHour(),
  ]);
  const { value, asOf, counting } = keys;
  return {
    items: plans.map((plan) => viewPlan(plan, value, traffic)),
    next: null,
    /** Gateway processes that run. */
    gateways,
    keysAsOf: asOf,
    counting,
  };
}

function viewPlan(
  { name, kind, gateways, enforced = [], issues, trial, ...limits }: PlanOverview,
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
    trial: trial === undefined ? null : viewTrial(trial),
    keys: isForKeys && impacts !== undefined ? (impacts.get(name)?.keys ?? 0) : null,
    lastHour: viewTraffic(traffic[isForKeys ? name : 'none']),
  };
}

/** Requests of an hour, and how many of them were refused: over a limit, or during a ban. */
function viewTraffic(traffic: PlanTraffic | undefined) {
  const { requests = 0, refusals = noRefusals(), bannedRequests = 0 } = traffic ?? {};
  const refused = allRefusals(refusals) + bannedRequests;
  return { requests, refused, refusedShare: requests === 0 ? 0 : refused / requests };
}

export function viewTrial({ since, ...limits }: Trial) {
  return { ...limitsView(limits), since: new Date(since).toISOString() };
}

/** @throws ApiError not_found */
export async function findPlan(session: Session, name: string): Promise<PlanOverview> {
  const { plans } = await readPlanOverviews(session);
  const plan = plans.find((plan) => plan.name === name);
  if (plan === undefined) throw new ApiError('not_found', { message: 'There is no plan of this name.' });
  return plan;
}

/**
 * A plan whose limits can be set.
 * @throws ApiError not_found, and invalid_operation for what is no plan with limits of its own
 */
export async function findEditablePlan(session: Session, name: string): Promise<PlanOverview> {
  const plan = await findPlan(session, name);
  switch (plan.kind) {
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
