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
import { banPolicySetting } from '../quota/ban-policy.ts';
import { usageSetting } from '../quota/usage-policy.ts';
import { mapping, wholeNumber } from '../redis/define-setting.ts';
import { planNamePattern } from './plan-name.ts';

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
export const planFileSchema = z
  .strictObject(limits, mapping(`the fields ${requiredWindows.join(' and ')}`))
  .meta({ description: 'limits of each API key on the plan that has none of its own' });

export const anonymousFileSchema = z
  .strictObject({ minute }, mapping('the field minute'))
  .meta({ description: 'limit of an address for requests without a valid API key' });

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
      banPolicy: banPolicySetting.values.optional(),
      usage: usageSetting.values.optional(),
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
