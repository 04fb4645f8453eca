import { once } from 'node:events';
import { oneLine } from '#runtime/error-message.ts';
import stringWidth from 'string-width';
import { unchangedFields, type ChangedField } from '../../control/audit/audit-log.ts';
import { hiddenCharacters } from '../../control/keys/key-input.ts';
import { cellOf, pagesOf, type Cell, type Items } from '../../control/list-text.ts';
import { keyPattern } from '../../platform/config/key-prefix.ts';

let closedPipeFails = false;
let warning: string | undefined;

/** Forgets what an earlier command of this process has said. */
export function resetOutput(): void {
  closedPipeFails = false;
  warning = undefined;
}

/** Makes it a failure if the reader closes the pipe early: the output may contain a key. */
export function failOnClosedPipe(): void {
  closedPipeFails = true;
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader has enough, as in `ops keys list | head`.
  if (error.code === 'EPIPE' && !closedPipeFails) process.exit(0);
  printError(`${cannotPrint(error)}; for changes see: ops audit`);
  process.exit(1);
});

const cannotPrint = ({ code }: NodeJS.ErrnoException) => `can't print the result (${code})`;

/** An API key, or a part of one. Longer than the hint that a record has. */
const keyLike = keyPattern(/[0-9A-Za-z]{5,}/g);
/** A key with a prefix that is not known: before Redis is read, or because no gateway has run with it yet. */
const anyKeyLike = /[a-z0-9]{1,15}_[0-9A-Za-z]{36,}/g;
const hint = (key: string) => `${key.slice(0, key.indexOf('_') + 5)}…`;

/** Prints one line to standard error, whatever the message contains. A key that was given as an argument is cut short. */
export function printError(message: string): void {
  const line = oneLine(message).replaceAll(keyLike(), hint).replaceAll(anyKeyLike, hint);
  process.stderr.write(`ops: ${printable(line)}\n`);
}

/** Prints a warning, which is also the field `warning` of a JSON object that is printed afterwards. */
export function printWarning(message: string): void {
  warning = message;
  printError(`warning: ${message}`);
}

/** Prints text. Waits for a slow reader, so that a long list does not fill the memory. */
export async function print(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

/** Prints JSON on one line, for programs. Its shape is stable: fields are only added. */
export function printJson(value: object): void {
  const shown = warning === undefined || Array.isArray(value) ? value : { ...value, warning };
  process.stdout.write(`${JSON.stringify(shown)}\n`);
}

/** Prints one object: for programs, or a line for each field. */
export function printResult(value: object, json: true | undefined): void {
  if (json) printJson(value);
  else printFields(value);
}

/** Prints rows under aligned headings, for people, page by page. Columns are as wide as the first page needs. */
export async function printTable<Item>(
  headings: readonly string[],
  items: Items<Item>,
  rowOf: (item: Item) => readonly Cell[],
): Promise<void> {
  let widths: number[] | undefined;
  const lines = [[...headings]];
  for await (const page of pagesOf(items)) {
    if (page.length === 0) continue;
    lines.push(...page.map((item) => rowOf(item).map(cellText)));
    widths ??= widthsOf(lines);
    await print(formatLines(lines.splice(0), widths));
  }
  if (widths === undefined) await print(formatLines(lines, widthsOf(lines)));
}

const widthsOf = (lines: readonly string[][]) =>
  (lines[0] ?? []).map((_cell, column) => Math.max(...lines.map((line) => stringWidth(line[column] ?? ''))));

function formatLines(lines: readonly string[][], widths: readonly number[]): string {
  const padding = (cell: string, column: number) => (widths[column] ?? 0) - stringWidth(cell);
  return lines
    .map((line) => {
      const cells = line.map((cell, column) => cell + ' '.repeat(Math.max(0, padding(cell, column))));
      return `${cells.join('  ').trimEnd()}\n`;
    })
    .join('');
}

const cellText = (cell: Cell) =>
  printable(typeof cell === 'object' ? (cell?.join(' ') ?? '-') : String(cell ?? '-'));

/** Prints one object, a line for each field. */
export function printFields(fields: object): void {
  process.stdout.write(`${formatFields(unchangedFields(fields)).join('\n')}\n`);
}

/** Replaces hidden characters: a value that was edited by hand must not control the terminal. */
export const printable = (text: string) => text.replaceAll(hiddenCharacters, '\u{FFFD}');

/** Formats aligned lines. A field that has not changed has one value. */
export function formatFields(fields: readonly ChangedField[], indent = ''): string[] {
  const width = Math.max(0, ...fields.map(({ field }) => field.length));
  return fields.map(({ field, before, after }) => {
    const [old, next] = [cellText(cellOf(before)), cellText(cellOf(after))];
    return `${indent}${printable(field.padEnd(width))}  ${old === next ? next : `${old} → ${next}`}`;
  });
}
