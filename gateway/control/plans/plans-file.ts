import { z } from 'zod';
import { parseYamlFile, YamlFileError } from '../../platform/config/yaml-file.ts';
import { mapping, type Setting } from '../../platform/redis/settings.ts';
import { wholeSettings, type WholeSettingName } from '../../quota/default-settings.ts';
import {
  anonymousPlan,
  anonymousSetting,
  enterprisePlan,
  lackingIssues,
  planNameIssue,
  planNamePattern,
  planValues,
} from '../../quota/plan-settings.ts';
import { banPolicySetting, usageSetting } from '../../quota/policies.ts';
import { InvalidOperation } from '../invalid-operation.ts';

const planName = z
  .string()
  .regex(planNamePattern, planNameIssue)
  .refine((name) => name !== enterprisePlan, 'has no limits of its own: each enterprise key has them')
  .refine((name) => name !== anonymousPlan, 'is not a plan: its limit is anonymous.minute, beside plans');

const plansSectionSchema = z
  .record(planName, planValues, mapping('plan names to limits'))
  .check(({ value, issues }) => {
    for (const [plan, limits] of Object.entries(value)) {
      for (const { path, message } of lackingIssues(plan, limits))
        issues.push({ code: 'custom', path: [plan, ...path], message, input: undefined });
    }
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
  });

export type PlansFile = z.output<typeof plansFileSchema>;

/** Settings beside the plans, each with its section in a file. */
export const sectionsOf = (file: PlansFile = {}) =>
  wholeSettings.map((setting): [Setting, object | undefined] => [setting, file[setting.name]]);

/** Size of some 6,000 plans. Reading a hostile file of this size takes seconds at most. */
export const maxFileBytes = 256 * 1024;

/**
 * Parses a file of plans and ban policy.
 * @param name what the messages call the file
 * @throws InvalidOperation that names line, column and field of what is invalid
 */
export function parsePlansFile(bytes: Uint8Array, name: string): PlansFile {
  try {
    return parseYamlFile(bytes, name, plansFileSchema, { maxBytes: maxFileBytes }).parsed;
  } catch (error) {
    throw error instanceof YamlFileError ? new InvalidOperation(error.message) : error;
  }
}
