import {
  completeLimits,
  doubtInWords,
  equalLimits,
  knownIn,
  withLimits,
  type Limits,
} from '../../limits/limits.ts';
import { impactOn } from '../../operations/plan-impact.ts';
import type { PlanOverview } from '../../operations/plan-overview.ts';
import type { PlanCounts } from './plan-counts.ts';
import { viewTrialReport } from './plan-trials.ts';

/** The effect that limits would have if they were set now, before anybody sets them. */
export async function planEffect(plan: PlanOverview, limits: Limits, counts: PlanCounts) {
  const { name, trial } = plan;
  const [use, onTrial] = await Promise.all([counts.use(name), reportOfTrial(plan, limits, counts)]);
  const { value, asOf, counting } = use;
  return {
    /** Says why the limits are unusual; then they have to be confirmed. */
    question: doubtInWords(name, limits) ?? null,
    now: value === undefined ? null : impactOn(value, limits),
    asOf,
    counting,
    /** Report of a trial of the same limits, while it runs. */
    trial: trial === undefined || onTrial === undefined ? null : onTrial,
  };
}

async function reportOfTrial({ name, trial, ...plan }: PlanOverview, limits: Limits, counts: PlanCounts) {
  const enforced = completeLimits(knownIn(plan));
  if (trial === undefined || enforced === undefined) return undefined;
  if (!equalLimits(withLimits(enforced, trial), limits)) return undefined;
  const report = await counts.trialReport({ name, limits: enforced, trial, issues: [] });
  return viewTrialReport(trial, report);
}
