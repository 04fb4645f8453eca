import { stringify } from 'yaml';
import { windowNames } from '../limits/windows.ts';
import { planValues } from '../plans/plan-settings.ts';
import type { Setting } from '../redis/define-setting.ts';
import { plansSectionSchema, sectionsOf, type PlansFile } from './plans-file-schema.ts';

/**
 * Formats a file of plans as YAML, with comments that name the units. parsePlansFile reads it.
 * @param schema URL or path of the JSON Schema, with which editors complete and check the file
 */
export function formatPlansFile(file: PlansFile, schema: string): string {
  const limits = Object.entries(file.plans ?? {}).flatMap(([name, plan]) =>
    // A name such as "true" or "null" needs quotes.
    [`  ${stringify(name).trim()}:`].concat(
      windowNames.flatMap((window) => (plan[window] === undefined ? [] : `    ${window}: ${plan[window]}`)),
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
