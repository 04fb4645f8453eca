import { dayBelowMinute } from '../../operations/day-below-minute.ts';
import { impactOn } from '../../operations/plan-impact.ts';
import type { PlanOverview } from '../../operations/plan-overview.ts';
import type { PlanCounts } from './plan-counts.ts';
import { viewTrialReport } from './plan-trials.ts';

/** The effect that limits would have if they were set now, before anybody sets them. */
export async function planEffect(
  plan: PlanOverview,
  limits: { minute: number; day: number },
  counts: PlanCounts,
) {
  const { name, trial } = plan;
  const [use, onTrial] = await Promise.all([counts.use(name), reportOfTrial(plan, limits, counts)]);
  const { value, asOf, counting } = use;
  return {
    /** Says why the limits are unusual; then they have to be confirmed. */
    question: dayBelowMinute(name, limits) ?? null,
    now: value === undefined ? null : impactOn(value, limits),
    asOf,
    counting,
    /** Report of a trial of the same limits, while it runs. */
    trial: trial === undefined || onTrial === undefined ? null : onTrial,
  };
}

async function reportOfTrial(
  { name, minute, day, trial }: PlanOverview,
  limits: { minute: number; day: number },
  counts: PlanCounts,
) {
  if (trial === undefined || minute === null || day === null) return undefined;
  if ((trial.minute ?? minute) !== limits.minute || (trial.day ?? day) !== limits.day) return undefined;
  const report = await counts.trialReport({ name, limits: { minute, day }, trial, issues: [] });
  return viewTrialReport(trial, report);
}
