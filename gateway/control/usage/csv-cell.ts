import { hiddenCharacters } from '../keys/key-input.ts';
import type { Cell, Pages } from '../operation.ts';

/** Formats a list as CSV, page by page. @param fields of its items */
export async function* csvOf<Item>(
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
  return typeof value === 'string' || typeof value === 'number' ? value : null;
}

/** A line of CSV, without what would control a terminal or a spreadsheet. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\n`;
}

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
