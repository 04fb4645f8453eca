import { styleText } from 'node:util';
import { changedFields, type ChangedField } from '../../control/audit/audit-log.ts';
import { aboveInWords } from '../../control/plans/plan-customers.ts';
import type { PlansFileDiff } from '../../control/plans/plans-file-diff.ts';
import type { Values } from '../../control/plans/settings.ts';
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
export function formatChanges({ changes, unlisted }: Pick<PlansFileDiff, 'changes' | 'unlisted'>): string {
  const lines = changes.flatMap(({ name, before, after, customers, above = [] }) => [
    [name, outcome(before, after), customers === undefined ? '' : describeCustomers(customers)]
      .filter((part) => part !== '')
      .join('  '),
    ...formatFields(changedFields(before, after), '  '),
    ...above.map((customer) => `  above them now: ${printable(aboveInWords(customer))}`),
  ]);
  const notes = unlisted.map((name) => `plans.${name}  not in the file, stays as it is; --prune removes it`);
  return [...lines, ...notes].map((line) => `${line}\n`).join('');
}

function outcome(before: Values | null, after: Values | null): string {
  if (after === null) return styleText('red', 'removed', { stream: process.stdout });
  return before === null ? styleText('green', 'new', { stream: process.stdout }) : '';
}

function describeCustomers(count: number): string {
  return `${count} ${count === 1 ? 'customer' : 'customers'}`;
}
