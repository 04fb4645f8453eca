import type { z } from 'zod';
import { describeIssues } from '../config/describe-issues.ts';
import { banPolicySetting } from '../quota/ban-policy.ts';
import { usageSetting } from '../quota/usage-policy.ts';
import { fieldsOf } from '../redis/define-setting.ts';
import { readEnforcedValues, type EnforcedValues } from './enforced-values.ts';
import {
  anonymousInFile,
  banPolicyInFile,
  planInFile,
  readStored,
  usageInFile,
  type Fields,
  type FileSetting,
} from './file-settings.ts';
import { planNamePattern } from './plan-name.ts';
import { comparePlanNames } from './plan-names.ts';
import { anonymousFileSchema, planFileSchema, plansFileSchema, type PlansFile } from './plans-file-schema.ts';
import type { Session } from './session.ts';

export type PlansFileExport =
  | {
      outcome: 'complete';
      file: PlansFile;
      /** Settings that Redis lacks, and that are therefore exported as running gateways enforce them. */
      warnings: string[];
    }
  /** An incomplete file must not replace a complete one. */
  | { outcome: 'incomplete'; issues: string[] };

/**
 * Reads all settings of a file of plans. What is missing or invalid in Redis is taken from the running gateways, if all of
 * them enforce the same. Changes nothing.
 * @throws InvalidOperation if the Redis key of a setting is not a hash any more
 */
export async function exportPlansFile(session: Session): Promise<PlansFileExport> {
  const enforced = await readEnforcedValues(session);
  const { listed, enforcedOnly, lost } = await comparePlanNames(session.redis, enforced);
  // In a Redis that has not lost its plans, the others were removed.
  const plans = [...listed, ...(lost ? enforcedOnly : [])].map(planInFile);
  const settings = [...plans, anonymousInFile, banPolicyInFile, usageInFile];
  const stored = await readStored(session.redis, settings);
  const values = new Map<string, object>();
  const warnings: string[] = [];
  const issues: string[] = [];
  for (const setting of settings) {
    const fields = stored.get(setting.key) ?? {};
    // A retention that nobody has set or enforces has a default, which the file needs not name.
    if (setting === usageInFile && isEmpty(fields) && enforced.of(setting.key).length === 0) continue;
    const own = parse(setting, fields);
    const other = own.value === undefined ? valueInForce(setting, enforced) : undefined;
    const value = own.value ?? other;
    if (value !== undefined) values.set(setting.name, value);
    if (other !== undefined) {
      warnings.push(`${setting.key}: ${own.issue}; exported is what running gateways enforce`);
    }
    if (value === undefined) {
      issues.push(
        `${setting.key}: ${own.issue}, and the running gateways, if any, do not all enforce the same`,
      );
    }
    if (setting.plan !== undefined && !planNamePattern.test(setting.plan)) {
      issues.push(`${setting.key}: the name of the plan is not valid: move its keys to another plan`);
    }
  }
  if (issues.length > 0) return { outcome: 'incomplete', issues };
  const file = plansFileSchema.parse({
    plans: Object.fromEntries(plans.map(({ name, target }) => [target, values.get(name)])),
    anonymous: values.get(anonymousInFile.name),
    banPolicy: values.get(banPolicyInFile.name),
    usage: values.get(usageInFile.name),
  });
  return { outcome: 'complete', file, warnings };
}

const planFields = fieldsOf(planFileSchema);
const fieldSchemas = new Map<string, z.ZodType<object>>([
  [anonymousInFile.key, fieldsOf(anonymousFileSchema)],
  [banPolicySetting.key, banPolicySetting.fields],
  [usageSetting.key, usageSetting.fields],
]);

/** Parses the fields of a hash as gateways do. */
function parse({ key }: FileSetting, fields: Fields): { value?: object; issue: string } {
  if (isEmpty(fields)) return { issue: 'is not set' };
  const parsed = (fieldSchemas.get(key) ?? planFields).safeParse(fields);
  return parsed.success
    ? { value: parsed.data, issue: '' }
    : { issue: describeIssues(parsed.error).join('; ') };
}

const isEmpty = (fields: Fields) => Object.keys(fields).length === 0;

/** @returns undefined if no gateway runs, or they do not agree */
function valueInForce(setting: FileSetting, enforced: EnforcedValues): object | undefined {
  const [fields, ...others] = enforced.of(setting.key);
  return fields === undefined || others.length > 0 ? undefined : parse(setting, fields).value;
}
