import { z } from 'zod';
import { mapping, type Setting } from '../../platform/redis/define-setting.ts';
import { banPolicySetting } from '../../quota/ban-policy.ts';
import {
  anonymousPlan,
  anonymousSetting,
  enterprisePlan,
  lackingIssues,
  planNameIssue,
  planNamePattern,
  planValues,
} from '../../quota/plan-settings.ts';
import { usageSetting } from '../../quota/usage-policy.ts';
import { wholeSettings, type WholeSettingName } from '../../quota/whole-settings.ts';

const planName = z
  .string()
  .regex(planNamePattern, planNameIssue)
  .refine((name) => name !== enterprisePlan, 'has no limits of its own: each enterprise key has them')
  .refine((name) => name !== anonymousPlan, 'is not a plan: its limit is anonymous.minute, beside plans')
  .meta({ not: { enum: [enterprisePlan, anonymousPlan] } });

export const plansSectionSchema = z
  .record(planName, planValues, mapping('plan names to limits'))
  .check(({ value, issues }) => {
    for (const [plan, limits] of Object.entries(value)) {
      for (const { path, message } of lackingIssues(plan, limits))
        issues.push({ code: 'custom', path: [plan, ...path], message, input: undefined });
    }
  })
  .meta({
    description:
      'limits of the plans, at least one each; free, pro and business always exist, and need a minute and a day limit',
  });

const sections = {
  plans: plansSectionSchema.optional(),
  anonymous: anonymousSetting.values.optional(),
  banPolicy: banPolicySetting.values.optional(),
  usage: usageSetting.values.optional(),
} satisfies Record<'plans' | WholeSettingName, z.ZodType>;

const sectionNames = new Intl.ListFormat('en-GB').format(Object.keys(sections));

/** Settings that operators keep in a file. What the file lacks stays as it is. */
export const plansFileSchema = z
  .strictObject(sections, mapping(`the sections ${sectionNames}`))
  .refine((settings) => Object.keys(settings).length > 0, {
    error: `has no settings: give at least one of ${sectionNames}`,
  })
  .meta({
    title: 'Plans and ban policy of the API gateway',
    description: 'written by "ops plans export", applied by "ops plans apply"',
  });

export type PlansFile = z.output<typeof plansFileSchema>;

/** Settings beside the plans, each with its section in a file. */
export const sectionsOf = (file: PlansFile = {}) =>
  wholeSettings.map((setting): [Setting, object | undefined] => [setting, file[setting.name]]);

/** The schema for editors, which is shipped as plans-file.schema.json: `npm run describe:plans-file` writes it. */
export function plansFileJsonSchema(): object {
  return z.toJSONSchema(plansFileSchema, { target: 'draft-7', io: 'input' });
}
