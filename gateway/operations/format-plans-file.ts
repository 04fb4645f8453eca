import { stringify } from 'yaml';
import { windowNames } from '../limits/windows.ts';
import { banPolicySetting } from '../quota/ban-policy.ts';
import { usageSetting } from '../quota/usage-policy.ts';
import {
  anonymousFileSchema,
  planFileSchema,
  plansSectionSchema,
  type PlansFile,
} from './plans-file-schema.ts';

/**
 * Formats a file of plans as YAML, with comments that name the units. parsePlansFile reads it.
 * @param schema URL or path of the JSON Schema, with which editors complete and check the file
 */
export function formatPlansFile(
  { plans = {}, anonymous, banPolicy, usage }: PlansFile,
  schema: string,
): string {
  const limits = Object.entries(plans).flatMap(([name, plan]) =>
    // A name such as "true" or "null" needs quotes.
    [`  ${stringify(name).trim()}:`].concat(
      windowNames.flatMap((window) => (plan[window] === undefined ? [] : `    ${window}: ${plan[window]}`)),
    ),
  );
  const units = Object.entries(planFileSchema.shape).map(
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
    ...section('anonymous', anonymousFileSchema, anonymous),
    ...section('banPolicy', banPolicySetting.values, banPolicy),
    ...section('usage', usageSetting.values, usage),
    '',
  ].join('\n');
}

interface Described {
  description?: string | undefined;
}

interface SectionSchema extends Described {
  shape: Readonly<Record<string, Described>>;
}

function section(name: string, schema: SectionSchema, values: object | undefined): string[] {
  if (values === undefined) return [];
  const lines = Object.entries(values).map(
    ([field, value]) => `  ${field}: ${value} # ${schema.shape[field]?.description}`,
  );
  return ['', `# ${sentence(schema)}`, `${name}:`, ...lines];
}

function sentence({ description = '' }: Described): string {
  return `${description.charAt(0).toUpperCase()}${description.slice(1)}.`;
}
