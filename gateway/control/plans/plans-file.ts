import { describeIssues } from '#runtime/error-message.ts';
import { z } from 'zod';
import { forPlanFields } from '../../limits/limits.ts';
import { parseYamlFile, YamlFileError } from '../../platform/config/yaml-file.ts';
import { mapping, textFields, type Setting } from '../../platform/redis/settings.ts';
import { wholeSettings, type WholeSettingName } from '../../quota/default-settings.ts';
import {
  anonymousPlan,
  anonymousSetting,
  enterprisePlan,
  lackingIssues,
  planNameIssue,
  planNamePattern,
  planSetting,
  planValues,
} from '../../quota/plan-settings.ts';
import { banPolicySetting, usageSetting } from '../../quota/policies.ts';
import { InvalidOperation, OperationFailure } from '../invalid-operation.ts';
import type { ReadingSession } from '../session.ts';
import { readLimitedPlans } from './plan-names.ts';
import { diffSettings, readStored, type WantedSetting } from './settings.ts';

const planName = z
  .string()
  .regex(planNamePattern, planNameIssue)
  .refine((name) => name !== enterprisePlan, 'has no limits of its own: each enterprise key has them')
  .refine((name) => name !== anonymousPlan, 'is not a plan: its limit is anonymous.minute, beside plans');

const plansSection = z
  .record(planName, planValues, mapping('plan names to limits'))
  .check(({ value, issues }) => {
    for (const [plan, limits] of Object.entries(value)) {
      for (const { path, message } of lackingIssues(plan, limits))
        issues.push({ code: 'custom', path: [plan, ...path], message, input: undefined });
    }
  });

const sections = {
  plans: plansSection.optional(),
  anonymous: anonymousSetting.values.optional(),
  banPolicy: banPolicySetting.values.optional(),
  usage: usageSetting.values.optional(),
} satisfies Record<'plans' | WholeSettingName, z.ZodType>;

const sectionNames = new Intl.ListFormat('en-GB').format(Object.keys(sections));

/** Settings that operators keep in a file. What the file lacks stays as it is. */
const plansFileSchema = z
  .strictObject(sections, mapping(`the sections ${sectionNames}`))
  .refine((settings) => Object.keys(settings).length > 0, {
    error: `has no settings: give at least one of ${sectionNames}`,
  });

export type PlansFile = z.output<typeof plansFileSchema>;

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

/** What applying a file of plans would change. */
export async function diffPlansFile({ redis }: Pick<ReadingSession, 'redis'>, file: PlansFile) {
  const wanted = settingsOf(file);
  return diffSettings(await readStored(redis, wanted), wanted);
}

/** Settings of a file, in its order. */
export function settingsOf(file: PlansFile): WantedSetting[] {
  const plans = Object.entries(file.plans ?? {}).map(([plan, limits]): [Setting, object] => [
    planSetting(plan),
    // A plan has no other limits than those of the file.
    forPlanFields((field) => limits[field] ?? ''),
  ]);
  const others = wholeSettings.map((setting): [Setting, object | undefined] => [setting, file[setting.name]]);
  return [...plans, ...others].flatMap(([setting, values]) =>
    values === undefined ? [] : [{ ...setting, wanted: textFields(values) }],
  );
}

/**
 * Reads all settings of a file of plans, as they are in Redis.
 * @throws OperationFailure if one of them is invalid, or a plan has none: the file must not replace a complete one
 */
export async function exportPlansFile({ redis }: Pick<ReadingSession, 'redis'>): Promise<PlansFile> {
  const plans = (await readLimitedPlans(redis)).map(planSetting);
  const settings: Setting[] = [...plans, ...wholeSettings];
  const stored = await readStored(redis, settings);
  const values = new Map<Setting, object>();
  const issues: string[] = [];
  for (const setting of settings) {
    const fields = stored.get(setting.key) ?? {};
    const isSet = Object.keys(fields).length > 0;
    // What was never set has its default.
    if (!isSet && setting.plan === undefined) continue;
    const { data, error } = setting.fields.safeParse(fields);
    if (data !== undefined) values.set(setting, data);
    else issues.push(`${setting.key}: ${isSet ? describeIssues(error).join('; ') : 'is not set'}`);
  }
  if (issues.length > 0) throw new OperationFailure(`nothing was exported: ${issues.join('; ')}`);
  return plansFileSchema.parse({
    plans: Object.fromEntries(plans.map((setting) => [setting.target, values.get(setting)])),
    ...Object.fromEntries(wholeSettings.map((setting) => [setting.name, values.get(setting)])),
  });
}
