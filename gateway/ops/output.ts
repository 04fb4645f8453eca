import { once } from 'node:events';
import { styleText } from 'node:util';
import stringWidth from 'string-width';

export type Cell = string | number | null | undefined;
export type Row = readonly Cell[];

let everythingMustBeRead = false;

/** From now on it is a failure where nobody reads to the end what is printed: it may be a key. */
export function readersMatter(): void {
  everythingMustBeRead = true;
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever reads has seen enough, as in `ops keys list | head`.
  if (error.code === 'EPIPE' && !everythingMustBeRead) process.exit(0);
  writeFault(`can't print the result (${error.code}); what has been changed is in: ops audit`);
  process.exit(1);
});

/** One line on standard error, whatever the message holds. */
export function writeFault(message: string): void {
  process.stderr.write(`ops: ${printable(message.replaceAll(/\s*\n\s*/g, ' '))}\n`);
}

/** Waits for a slow reader, so that a long list does not pile up in memory. */
export async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

/** JSON on one line, for programs. Its shape is stable: fields are added, never renamed or removed. */
export function writeJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** An array on one line, written while it is being read. */
export async function writeJsonArray(pages: AsyncIterable<readonly unknown[]>): Promise<void> {
  let separator = '[';
  for await (const page of pages) {
    if (page.length === 0) continue;
    await write(separator + page.map((value) => JSON.stringify(value)).join(','));
    separator = ',';
  }
  await write(separator === '[' ? '[]\n' : ']\n');
}

/** Rows under aligned headings, for people. */
export function writeTable(headings: readonly string[], rows: readonly Row[]): void {
  const lines = [headings, ...rows].map((row) => row.map(cellText));
  process.stdout.write(formatLines(lines, columnWidths(lines)));
}

/** The same, written while it is being read: columns are as wide as the first page needs. */
export async function writeTablePages(
  headings: readonly string[],
  pages: AsyncIterable<readonly Row[]>,
): Promise<void> {
  let widths: number[] | undefined;
  for await (const page of pages) {
    const rows = page.map((row) => row.map(cellText));
    const lines = widths === undefined ? [[...headings], ...rows] : rows;
    widths ??= columnWidths(lines);
    await write(formatLines(lines, widths));
  }
  if (widths === undefined) writeTable(headings, []);
}

/** One thing, a line a field. */
export function writeFields(fields: Readonly<Record<string, Cell>>): void {
  const names = Object.keys(fields);
  const width = Math.max(...names.map((name) => name.length));
  for (const [name, value] of Object.entries(fields)) {
    process.stdout.write(`${name.padEnd(width)}  ${paint(cellText(value))}\n`);
  }
}

function columnWidths(lines: readonly string[][]): number[] {
  const columns = lines[0]?.length ?? 0;
  return Array.from({ length: columns }, (_, column) =>
    Math.max(...lines.map((line) => stringWidth(line[column] ?? ''))),
  );
}

function formatLines(lines: readonly string[][], widths: readonly number[]): string {
  return lines
    .map((line) => {
      const last = line.length - 1;
      const cells = line.map((cell, column) => {
        const padding = column === last ? 0 : Math.max(0, (widths[column] ?? 0) - stringWidth(cell));
        return paint(cell) + ' '.repeat(padding);
      });
      return `${cells.join('  ').trimEnd()}\n`;
    })
    .join('');
}

function cellText(cell: Cell): string {
  return printable(String(cell ?? '-'));
}

/** What was edited into Redis or a file by hand must not command the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '\u{FFFD}');
}

const colours = new Map<string, 'green' | 'yellow' | 'red'>([
  ['valid', 'green'],
  ['expired', 'yellow'],
  ['revoked', 'red'],
  ['banned', 'red'],
  ['unusable', 'red'],
]);

/** States in colour, on a terminal that wants any (NO_COLOR). */
function paint(cell: string): string {
  const colour = colours.get(cell);
  return colour === undefined ? cell : styleText(colour, cell, { stream: process.stdout });
}
