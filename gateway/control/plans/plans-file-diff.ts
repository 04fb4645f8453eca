import { describeIssues } from '#runtime/error-message.ts';
import { forPlanFields } from '../../limits/limits.ts';
import { textFields } from '../../platform/redis/enforced-settings.ts';
import type { Setting } from '../../platform/redis/settings.ts';
import { planSetting } from '../../quota/plan-settings.ts';
import { OperationFailure } from '../invalid-operation.ts';
import type { ReadingSession } from '../session.ts';
import { readLimitedPlans } from './plan-names.ts';
import { plansFileSchema, sectionsOf, type PlansFile } from './plans-file.ts';
import { diffSettings, readStored, type SettingChange, type WantedSetting } from './settings.ts';

/** What applying a file of plans would change. */
export async function diffPlansFile(
  { redis }: Pick<ReadingSession, 'redis'>,
  file: PlansFile,
): Promise<SettingChange[]> {
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
  return [...plans, ...sectionsOf(file)].flatMap(([setting, values]) =>
    values === undefined ? [] : [{ ...setting, wanted: textFields(values) }],
  );
}

/**
 * Reads all settings of a file of plans, as they are in Redis.
 * @throws OperationFailure if one of them is invalid, or a plan has none: the file must not replace a complete one
 */
export async function exportPlansFile({ redis }: Pick<ReadingSession, 'redis'>): Promise<PlansFile> {
  const plans = (await readLimitedPlans(redis)).map(planSetting);
  const settings: Setting[] = [...plans, ...sectionsOf().map(([setting]) => setting)];
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
    ...Object.fromEntries(sectionsOf().map(([setting]) => [setting.name, values.get(setting)])),
  });
}
