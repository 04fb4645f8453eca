import { nearestName } from '#runtime/nearest-name.ts';
import type { z } from 'zod';
import { readYamlFile, YamlFileError, type YamlIssue } from '../../platform/config/yaml-file.ts';
import { planValues } from '../../quota/plan-settings.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import { plansFileSchema, sectionsOf, type PlansFile } from './plans-file-schema.ts';

/** Size of some 6,000 plans. Reading a hostile file of this size takes seconds at most. */
export const maxFileBytes = 256 * 1024;
const maxShownCharacters = 40;

/**
 * Parses a file of plans and ban policy.
 * @param name what the messages call the file
 * @throws InvalidOperation that names line, column and field of what is invalid
 */
export function parsePlansFile(bytes: Uint8Array, name: string): PlansFile {
  try {
    const { value, describe } = readYamlFile(bytes, name, { maxBytes: maxFileBytes });
    if (value === null) throw new InvalidOperation(`${name} is empty: ops plans export writes such a file`);
    const parsed = plansFileSchema.safeParse(value, { reportInput: true });
    if (parsed.success) return parsed.data;
    throw new YamlFileError(describe(parsed.error.issues.flatMap(issuesOf)));
  } catch (error) {
    throw error instanceof YamlFileError ? new InvalidOperation(error.message) : error;
  }
}

/** An issue for each field that is not known, and one for any other problem. */
function issuesOf(issue: z.core.$ZodIssue): YamlIssue[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const near = nearestName(key, fields.get(path[0]) ?? []);
      const hint = near === undefined ? '' : `; did you mean ${near}?`;
      const field = [...path, key];
      return { path: field, text: `${field.join('.')} is not known${hint}` };
    });
  }
  const message = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? '') : issue.message;
  const shown = issue.code === 'invalid_key' ? '' : shownValue(issue.input);
  const field = path.length === 0 ? 'the file' : path.join('.');
  return [{ path, text: `${field} ${message}${shown}` }];
}

/** Fields of each mapping; those of a plan under `plans`. */
const fields = new Map<string | undefined, readonly string[]>([
  [undefined, Object.keys(plansFileSchema.shape)],
  ['plans', Object.keys(planValues.shape)],
  ...sectionsOf().map(([{ name, values }]) => [name, Object.keys(values.shape)] as const),
]);

/** The value as it was read. A text could be long. */
function shownValue(value: unknown): string {
  if (value === undefined || (typeof value === 'object' && value !== null)) return '';
  // JSON has no NaN and no infinity.
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return `: ${text.length > maxShownCharacters ? `${text.slice(0, maxShownCharacters)}…` : text}`;
}
