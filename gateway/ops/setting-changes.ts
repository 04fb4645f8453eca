import { styleText } from 'node:util';
import type { PlansFileDiff } from '../operations/plans-file-diff.ts';
import type { Values } from '../operations/settings-diff.ts';
import { printable, type Cell } from './output.ts';

type Value = Cell | boolean;

/** A field with its value before and after a change; the same twice for one that does not change. */
export type ChangedField = readonly [name: string, before: Value, after: Value];

/** Formats aligned lines, in colours on a terminal and without NO_COLOR. */
export function formatFields(fields: readonly ChangedField[], indent = ''): string[] {
  const width = Math.max(0, ...fields.map(([name]) => name.length));
  return fields.map(
    ([name, before, after]) => `${indent}${printable(name.padEnd(width))}  ${oldToNew(before, after)}`,
  );
}

function oldToNew(before: Value, after: Value): string {
  const [old, next] = [printable(String(before ?? '-')), printable(String(after ?? '-'))];
  if (old === next) return next;
  const stream = process.stdout;
  return `${styleText('red', old, { stream })} → ${styleText('green', next, { stream })}`;
}

/** Formats the changes: a line for each setting, and below it one for each field that differs. */
export function formatChanges({ changes, unlisted }: Pick<PlansFileDiff, 'changes' | 'unlisted'>): string {
  const lines = changes.flatMap(({ name, before, after, impact }) => [
    [name, outcome(before, after), impact === undefined ? '' : describeImpact(impact, after !== null)]
      .filter((part) => part !== '')
      .join('  '),
    ...fieldLines(before ?? {}, after ?? {}),
  ]);
  const notes = unlisted.map((name) => `plans.${name}  not in the file, stays as it is; --prune removes it`);
  return [...lines, ...notes].map((line) => `${line}\n`).join('');
}

function outcome(before: Values | null, after: Values | null): string {
  if (after === null) return styleText('red', 'removed', { stream: process.stdout });
  return before === null ? styleText('green', 'new', { stream: process.stdout }) : '';
}

function describeImpact({ keys, over }: { keys: number; over: number }, hasNewLimits: boolean): string {
  const count = `${keys} ${keys === 1 ? 'key' : 'keys'}`;
  return hasNewLimits ? `${count}, ${over} over the new limits now` : count;
}

function fieldLines(before: Values, after: Values): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changed = names.filter((name) => before[name] !== after[name]);
  return formatFields(
    changed.map((name) => [name, before[name], after[name]]),
    '  ',
  );
}
