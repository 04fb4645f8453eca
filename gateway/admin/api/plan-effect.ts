import { z } from 'zod';
import {
  completeLimits,
  doubtInWords,
  equalLimits,
  knownIn,
  withLimits,
  type Limits,
} from '../../limits/limits.ts';
import { impactOn, planImpactSchema } from '../../operations/plan-impact.ts';
import type { PlanOverview } from '../../operations/plan-overview.ts';
import type { PlanCounts } from './plan-counts.ts';
import { reportedTrialSchema, viewTrialReport } from './plan-trials.ts';
import { countingSchema } from './plan-view.ts';

export const planEffectSchema = z.object({
  question: z
    .string()
    .nullable()
    .describe('What is unusual about the limits; then they have to be confirmed'),
  now: planImpactSchema.nullable().describe('While `asOf` is null, of the keys that were read so far'),
  asOf: z.iso.datetime().nullable(),
  counting: countingSchema,
  trial: reportedTrialSchema.nullable().describe('Of a trial of the same limits that runs'),
});

/** The effect that limits would have if they were set now, before anybody sets them. */
export async function planEffect(
  plan: PlanOverview,
  limits: Limits,
  counts: PlanCounts,
): Promise<z.infer<typeof planEffectSchema>> {
  const { name, trial } = plan;
  const [use, onTrial] = await Promise.all([counts.use(name), reportOfTrial(plan, limits, counts)]);
  const { value, asOf, counting } = use;
  return {
    question: doubtInWords(name, limits) ?? null,
    now: value === undefined ? null : impactOn(value, limits),
    asOf,
    counting,
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
