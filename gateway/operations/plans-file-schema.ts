import { z } from 'zod';
import { maxLimit } from '../limits/limits.ts';
import {
  byOptionalWindow,
  byRequiredWindow,
  eachExactly,
  requiredWindows,
  type WindowName,
} from '../limits/windows.ts';
import { anonymousPlan, enterprisePlan } from '../plans/plans.ts';
import { banPolicyBounds, isStrikesPerLimit } from '../quota/ban-policy.ts';
import { maxRetentionDays } from '../quota/usage-policy.ts';
import { planNamePattern } from './plan-name.ts';

/*
 * Descriptions are shown by editors, and as comments of an exported file. Each message continues the name of its field.
 */
const missingOr =
  (problem: string) =>
  ({ input }: { input?: unknown }) =>
    input === undefined ? 'is missing' : problem;

const wholeNumber = ({ min, max }: { min: number; max: number }, description: string) => {
  const error = missingOr(`is not a whole number from ${min} to ${max}`);
  return z.int({ error }).min(min, { error }).max(max, { error }).meta({ description });
};

const mapping = (shape: string) => ({ error: missingOr(`is not a mapping of ${shape}`) });

const limit = (window: WindowName) =>
  wholeNumber({ min: 1, max: maxLimit }, `requests ${eachExactly(window)}`);
const minute = limit('minute');
const limits = {
  ...byRequiredWindow(limit),
  ...byOptionalWindow((name) =>
    limit(name)
      .optional()
      .meta({ description: `requests ${eachExactly(name)}, if they are limited` }),
  ),
};
const strikesPerLimitError = missingOr('is not a number from 0 to 1000 with up to three decimals');
const seconds = (field: Exclude<keyof typeof banPolicyBounds, 'strikesPerLimit'>, description: string) =>
  wholeNumber(banPolicyBounds[field], description);

export const planFileSchema = z
  .strictObject(limits, mapping(`the fields ${requiredWindows.join(' and ')}`))
  .meta({ description: 'limits of each API key on the plan that has none of its own' });

export const anonymousFileSchema = z
  .strictObject({ minute }, mapping('the field minute'))
  .meta({ description: 'limit of an address for requests without a valid API key' });

export const banPolicyFileSchema = z
  .strictObject(
    {
      enabled: z
        .boolean({ error: missingOr('is neither true nor false') })
        .meta({ description: 'false switches new bans off' }),
      graceSeconds: seconds('graceSeconds', 'seconds after the first refusal in which none is a strike'),
      strikes: seconds('strikes', 'strikes (refused requests after the grace period) that lead to a ban'),
      strikesPerLimit: z
        .number({ error: strikesPerLimitError })
        .min(banPolicyBounds.strikesPerLimit.min, { error: strikesPerLimitError })
        .max(banPolicyBounds.strikesPerLimit.max, { error: strikesPerLimitError })
        .refine((value) => isStrikesPerLimit(String(value)), { error: strikesPerLimitError })
        .meta({ description: "strikes for each request of the key's minute limit, if that is more" }),
      windowSeconds: seconds('windowSeconds', 'seconds within which the strikes lead to a ban'),
      banSeconds: seconds('banSeconds', 'seconds of the first ban; doubles if the key goes on during it'),
      maxBanSeconds: seconds('maxBanSeconds', 'seconds of the longest ban; at least banSeconds'),
      resetSeconds: seconds('resetSeconds', 'seconds without a ban after which the next one is a first one'),
    },
    mapping('the fields of the ban policy'),
  )
  .refine(({ banSeconds, maxBanSeconds }) => maxBanSeconds >= banSeconds, {
    path: ['maxBanSeconds'],
    error: 'is less than banSeconds',
  })
  .meta({ description: 'when and for how long an API key is banned that goes on after 429' });

export const usageFileSchema = z
  .strictObject(
    {
      retentionDays: wholeNumber(
        { min: 1, max: maxRetentionDays },
        'days for which the usage of each key and day is kept',
      ),
    },
    mapping('the field retentionDays'),
  )
  .meta({ description: 'record of the usage of each key and UTC day' });

const planName = z
  .string()
  .regex(planNamePattern, 'is not a valid plan name: use up to 32 lower-case letters, digits and dashes')
  .refine((name) => name !== enterprisePlan, 'has no limits of its own: each enterprise key has them')
  .refine((name) => name !== anonymousPlan, 'is not a plan: its limit is anonymous.minute, beside plans')
  .meta({ not: { enum: [enterprisePlan, anonymousPlan] } });

export const plansSectionSchema = z
  .record(planName, planFileSchema, mapping('plan names to limits'))
  .meta({ description: 'limits of the plans; free, pro and business always exist' });

/** Settings that operators keep in a file. What the file lacks stays as it is. */
export const plansFileSchema = z
  .strictObject(
    {
      plans: plansSectionSchema.optional(),
      anonymous: anonymousFileSchema.optional(),
      banPolicy: banPolicyFileSchema.optional(),
      usage: usageFileSchema.optional(),
    },
    mapping('the sections plans, anonymous, banPolicy and usage'),
  )
  .refine((settings) => Object.keys(settings).length > 0, {
    error: 'has no settings: give at least one of plans, anonymous, banPolicy and usage',
  })
  .meta({
    title: 'Plans and ban policy of the API gateway',
    description: 'written by "ops plans export", applied by "ops plans apply"',
  });

export type PlansFile = z.output<typeof plansFileSchema>;

/** The schema for editors, which is shipped as plans-file.schema.json. */
export function plansFileJsonSchema(): object {
  return z.toJSONSchema(plansFileSchema, { target: 'draft-7', io: 'input' });
}
