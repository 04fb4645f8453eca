import { z } from 'zod';
import { doubtInWords, type Limits } from '../../limits/limits.ts';
import { findPastImpacts, pastImpactSchema } from '../../operations/past-impact.ts';
import { findHitKeys, hitKeySchema, impactOn, planImpactSchema } from '../../operations/plan-impact.ts';
import type { PlanOverview } from '../../operations/plan-overview.ts';
import type { Session } from '../../operations/session.ts';
import type { PlanCounts } from './plan-counts.ts';
import { countingSchema } from './plan-view.ts';

export const planEffectSchema = z.object({
  question: z
    .string()
    .nullable()
    .describe('What is unusual about the limits; then they have to be confirmed'),
  now: planImpactSchema.nullable().describe('While `asOf` is null, of the keys that were read so far'),
  hardestHit: z
    .array(hitKeySchema)
    .describe('The customers of `now.over` that are over by the largest share'),
  asOf: z.iso.datetime().nullable(),
  counting: countingSchema,
  past: z
    .object({
      impacts: z
        .array(pastImpactSchema)
        .nullable()
        .describe('Of the day and the month limit. While `asOf` is null, of the keys that were read so far'),
      asOf: z.iso.datetime().nullable(),
      counting: countingSchema,
    })
    .describe('What the limits would have done on the recorded days'),
});

/** The effect that limits would have if they were set now, before anybody sets them. */
export async function planEffect(
  session: Session,
  { name }: PlanOverview,
  limits: Limits,
  counts: PlanCounts,
): Promise<z.infer<typeof planEffectSchema>> {
  const { value, asOf, counting } = await counts.use(name);
  // Both read all keys: the one after the other, or with many keys the first answer would come late.
  const past = asOf === null ? notBegun : await counts.pastUse(name, limits);
  return {
    question: doubtInWords(name, limits) ?? null,
    now: value === undefined ? null : impactOn(value, limits),
    hardestHit: value === undefined ? [] : await findHitKeys(session, name, value, limits),
    asOf,
    counting,
    past: {
      impacts: past.value === undefined ? null : await findPastImpacts(session, past.value, limits),
      asOf: past.asOf,
      counting: past.counting,
    },
  };
}

const notBegun = { value: undefined, asOf: null, counting: null };
