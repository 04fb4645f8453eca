import { otherPlans } from '../events/plan-thresholds.ts';
import {
  defaultThresholds,
  formatThresholds,
  parseThresholds,
  type Thresholds,
} from '../limits/thresholds.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { readPlanNames, unknownPlan } from './plan-names.ts';
import type { Session } from './session.ts';
import { changeSettings, readSettings } from './settings-hash.ts';

export interface ListedThresholds {
  /** `*` for plans without thresholds of their own. */
  plan: string;
  /** Null if they were edited into something else. */
  thresholds: Thresholds | null;
}

/** Thresholds of plans, those of all other plans last. */
export async function listPlanThresholds({ redis }: Pick<Session, 'redis'>): Promise<ListedThresholds[]> {
  const { [otherPlans]: others, ...plans } = await readSettings(redis, redisKeys.thresholds);
  const listed = Object.entries(plans)
    .map(([plan, text]) => ({ plan, thresholds: parseThresholds(text) ?? null }))
    .toSorted((one, other) => one.plan.localeCompare(other.plan));
  const rest = others === undefined ? defaultThresholds : (parseThresholds(others) ?? null);
  return [...listed, { plan: otherPlans, thresholds: rest }];
}

/** Thresholds of the customers of a plan that have none of their own. */
export async function thresholdsOfPlan(session: Pick<Session, 'redis'>, plan: string): Promise<Thresholds> {
  const listed = await listPlanThresholds(session);
  const found = [plan, otherPlans].map((name) => listed.find((each) => each.plan === name)?.thresholds);
  return found[0] ?? found[1] ?? defaultThresholds;
}

/**
 * In force within a second. Customers may have thresholds of their own.
 * @param thresholds null for those of all other plans, or of these for the default ones
 * @throws InvalidOperation if there is no such plan
 */
export async function setPlanThresholds(
  session: Session,
  plan: string,
  thresholds: Thresholds | null,
): Promise<ListedThresholds[]> {
  const names = [...(await readPlanNames(session.redis)), otherPlans];
  if (!names.includes(plan)) throw unknownPlan(plan, names);
  await changeSettings(session, redisKeys.thresholds, (fields) => {
    const before = fields[plan] ?? null;
    const after = thresholds === null ? null : formatThresholds(thresholds);
    return Promise.resolve({
      fields: { [plan]: after ?? '' },
      entry: {
        action: 'webhooks.thresholds',
        target: plan,
        before: before === null ? null : { thresholds: before },
        after: after === null ? null : { thresholds: after },
      },
    });
  });
  return listPlanThresholds(session);
}
