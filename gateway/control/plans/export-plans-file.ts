import { stringify } from 'yaml';
import { planFields } from '../../limits/shadow-limits.ts';
import { describeIssues } from '../../platform/config/describe-issues.ts';
import type { Fields, Setting } from '../../platform/redis/define-setting.ts';
import { planNamePattern, planSetting, planValues } from '../../quota/plan-settings.ts';
import { OperationFailure } from '../invalid-operation.ts';
import type { Session } from '../session.ts';
import { readEnforcedValues, type EnforcedValues } from './enforced-values.ts';
import { comparePlanNames } from './plan-names.ts';
import { plansFileSchema, plansSectionSchema, sectionsOf, type PlansFile } from './plans-file.ts';
import { readStored } from './settings.ts';

/**
 * Reads all settings of a file of plans. What is missing or invalid in Redis is taken from the running gateways, if all of
 * them enforce the same. Changes nothing.
 * @returns the file, and what was taken from gateways since Redis lacks it
 * @throws OperationFailure if it would be incomplete, since it must not replace a complete one
 */
export async function exportPlansFile(session: Session): Promise<{ file: PlansFile; warnings: string[] }> {
  const enforced = await readEnforcedValues(session);
  const { listed, enforcedOnly, lost } = await comparePlanNames(session.redis, enforced);
  // In a Redis that has not lost its plans, the others were removed.
  const plans = [...listed, ...(lost ? enforcedOnly : [])].map(planSetting);
  const settings: Setting[] = [...plans, ...sectionsOf().map(([setting]) => setting)];
  const stored = await readStored(session.redis, settings);
  const values = new Map<string, object>();
  const warnings: string[] = [];
  const issues: string[] = [];
  for (const setting of settings) {
    const fields = stored.get(setting.key) ?? {};
    if (setting.isOptional && isEmpty(fields) && enforced.of(setting.key).length === 0) continue;
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
  if (issues.length > 0) throw new OperationFailure(`nothing was exported: ${issues.join('; ')}`);
  const file = plansFileSchema.parse({
    plans: Object.fromEntries(plans.map(({ name, target }) => [target, values.get(name)])),
    ...Object.fromEntries(sectionsOf().map(([{ name }]) => [name, values.get(name)])),
  });
  return { file, warnings };
}

/** Parses the fields of a hash as gateways do. */
function parse(setting: Setting, fields: Fields): { value?: object; issue: string } {
  if (isEmpty(fields)) return { issue: 'is not set' };
  const parsed = setting.fields.safeParse(fields);
  return parsed.success
    ? { value: parsed.data, issue: '' }
    : { issue: describeIssues(parsed.error).join('; ') };
}

const isEmpty = (fields: Fields) => Object.keys(fields).length === 0;

/** @returns undefined if no gateway runs, or they do not agree */
function valueInForce(setting: Setting, enforced: EnforcedValues): object | undefined {
  const [fields, ...others] = enforced.of(setting.key);
  return fields === undefined || others.length > 0 ? undefined : parse(setting, fields).value;
}

/**
 * Formats a file of plans as YAML, with comments that name the units. parsePlansFile reads it.
 * @param schema URL or path of the JSON Schema, with which editors complete and check the file
 */
export function formatPlansFile(file: PlansFile, schema: string): string {
  const limits = Object.entries(file.plans ?? {}).flatMap(([name, plan]) =>
    // A name such as "true" or "null" needs quotes.
    [`  ${stringify(name).trim()}:`].concat(
      planFields.flatMap((field) => (plan[field] === undefined ? [] : `    ${field}: ${plan[field]}`)),
    ),
  );
  const units = Object.entries(planValues.shape).map(
    ([field, { description }]) => `${field}: ${description}`,
  );
  return [
    `# yaml-language-server: $schema=${schema}`,
    '# What this file lacks stays as it is. Compare with: ops plans diff FILE; apply with: ops plans apply FILE',
    '',
    `# ${sentence(plansSectionSchema)}`,
    `# ${units.join('; ')}.`,
    'plans:',
    ...limits,
    ...sectionsOf(file).flatMap(([setting, values]) => section(setting, values)),
    '',
  ].join('\n');
}

function section({ name, values: schema }: Setting, values: object | undefined): string[] {
  if (values === undefined) return [];
  const shape: Readonly<Record<string, { description?: string | undefined }>> = schema.shape;
  const lines = Object.entries(values).map(
    ([field, value]) => `  ${field}: ${value} # ${shape[field]?.description}`,
  );
  return ['', `# ${sentence(schema)}`, `${name}:`, ...lines];
}

function sentence({ description = '' }: { description?: string | undefined }): string {
  return `${description.charAt(0).toUpperCase()}${description.slice(1)}.`;
}
