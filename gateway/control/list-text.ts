import { hiddenCharacters } from './keys/key-input.ts';

/** A list is shown with spaces between its parts. */
export type Cell = string | number | readonly string[] | null | undefined;

export type Items<Item> = readonly Item[] | AsyncIterable<readonly Item[]>;
type Pages<Item> = AsyncIterable<readonly Item[]> | Iterable<readonly Item[]>;

export function pagesOf<Item>(items: Items<Item>): Pages<Item> {
  return Symbol.asyncIterator in items ? items : [items];
}

/** Formats a list as JSON, page by page. @param before its items @param after them */
export async function* jsonText(
  pages: Pages<unknown>,
  [before, after]: readonly [string, string],
): AsyncGenerator<string> {
  let separator = before;
  for await (const items of pages) {
    if (items.length === 0) continue;
    yield separator + items.map((item) => JSON.stringify(item)).join(',');
    separator = ',';
  }
  yield separator === before ? before + after : after;
}

/** Formats a list as CSV, page by page. @param fields of its items */
export async function* csvText<Item>(
  pages: Pages<Item>,
  fields: readonly (keyof Item & string)[],
): AsyncGenerator<string> {
  yield csvLine(fields);
  for await (const page of pages)
    yield page.map((item) => csvLine(fields.map((field) => cellOf(item[field])))).join('');
}

export function cellOf(value: unknown): Cell {
  if (Array.isArray(value)) return value.map(String);
  if (typeof value === 'object' && value !== null) return JSON.stringify(value);
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'string' || typeof value === 'number' ? value : null;
}

/** A line of CSV, without what would control a terminal or a spreadsheet. */
export const csvLine = (cells: readonly Cell[]) => `${cells.map(csvCell).join(',')}\n`;

function csvCell(cell: Cell): string {
  if (typeof cell === 'number') return String(cell);
  const text = typeof cell === 'string' ? cell : (cell?.join(' ') ?? '');
  return formatCsvText(text.replaceAll(hiddenCharacters, '\u{FFFD}'));
}

/**
 * What a spreadsheet takes for the beginning of a formula, after apostrophes (OWASP, CSV Injection). Semicolons and tabs
 * separate cells in some languages.
 */
const formula = /(?<=^|[;\t\r\n])(?=[ ']*[=+\-@\t\r\n\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}])/gu;

/** Formats a text as a CSV cell. An apostrophe before a formula makes spreadsheets show it instead of running it. */
export function formatCsvText(text: string): string {
  const harmless = text.replaceAll(formula, "'");
  return /[",;\t\n\r]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
