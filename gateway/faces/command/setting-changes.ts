import { styleText } from 'node:util';
import { changedFields, type ChangedField } from '../../control/audit/audit-log.ts';
import type { SettingChange } from '../../control/plans/settings.ts';
import { printable } from './output.ts';

/** Formats aligned lines, in colours on a terminal and without NO_COLOR. A field that has not changed has one value. */
export function formatFields(fields: readonly ChangedField[], indent = ''): string[] {
  const width = Math.max(0, ...fields.map(({ field }) => field.length));
  return fields.map(
    ({ field, before, after }) => `${indent}${printable(field.padEnd(width))}  ${oldToNew(before, after)}`,
  );
}

function oldToNew(before: unknown, after: unknown): string {
  const [old, next] = [shown(before), shown(after)];
  if (old === next) return next;
  const stream = process.stdout;
  return `${styleText('red', old, { stream })} → ${styleText('green', next, { stream })}`;
}

function shown(value: unknown = null): string {
  if (value === null) return '-';
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}

/** Formats the changes: a line for each setting, and below it one for each field that differs. */
export function formatChanges(changes: readonly SettingChange[]): string {
  const lines = changes.flatMap(({ name, before, after }) => [
    before === null ? `${name}  ${styleText('green', 'new', { stream: process.stdout })}` : name,
    ...formatFields(changedFields(before, after), '  '),
  ]);
  return lines.map((line) => `${line}\n`).join('');
}
