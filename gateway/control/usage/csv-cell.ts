import { hiddenCharacters } from '../keys/key-input.ts';
import type { Cell } from '../operation.ts';

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
