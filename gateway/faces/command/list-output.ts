import { Option, type Command } from 'commander';
import { InvalidOperation } from '../../control/invalid-operation.ts';
import { formatCsvText } from '../../control/usage/csv-cell.ts';
import { jsonOption, type JsonOption } from './options.ts';
import { cellText, print, printJsonArray, printTablePages, type Cell, type Row } from './output.ts';

const outputFormats = ['table', 'json', 'csv'] as const;

export type OutputFormat = (typeof outputFormats)[number];

/** Options of every command that lists. */
export interface ListOptions extends JsonOption {
  output?: OutputFormat;
}

/** Adds `--output` and `--json`, its short form. */
export function addListOptions(command: Command): Command {
  return command.addOption(outputOption('table, json (one array) or csv')).addOption(jsonOption());
}

export function outputOption(description: string): Option {
  return new Option('--output <format>', description).choices(outputFormats);
}

/** @throws InvalidOperation for --json with another format */
export function outputFormat({ output, json }: ListOptions): OutputFormat {
  if (json && output !== undefined && output !== 'json') {
    throw new InvalidOperation(`--json is short for --output json: do not give it with --output ${output}`);
  }
  return json ? 'json' : (output ?? 'table');
}

/** How a list is printed. In JSON each item is printed as it is. */
export interface ListLayout<T> {
  /** Headings of the table and its cells, for people. */
  headings: readonly string[];
  row(item: T): Row;
  /** Columns of the CSV by name. The names are stable: columns are only added, at the end. */
  csv: Readonly<Record<string, (item: T) => Cell>>;
}

/** What a list has: all of it, or pages. */
type Items<T> = readonly T[] | AsyncIterable<readonly T[]>;

/** Prints a list page by page. */
export async function printList<T>(
  format: OutputFormat,
  layout: ListLayout<T>,
  items: Items<T>,
): Promise<void> {
  const pages = Symbol.asyncIterator in items ? items : onePage(items);
  switch (format) {
    case 'json':
      return printJsonArray(pages);
    case 'csv':
      await print(csvHeader(layout));
      for await (const page of pages) await print(page.map((item) => csvLine(layout, item)).join(''));
      return;
    case 'table':
      return printTablePages(layout.headings, rowPages(layout, pages));
  }
}

async function* onePage<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  yield await Promise.resolve(items);
}

async function* rowPages<T>({ row }: ListLayout<T>, pages: AsyncIterable<readonly T[]>) {
  for await (const page of pages) if (page.length > 0) yield page.map(row);
}

export function csvHeader({ csv }: { csv: object }): string {
  return `${Object.keys(csv).join(',')}\n`;
}

/** A line of the CSV. What a spreadsheet would run as a formula has an apostrophe before it. */
export function csvLine<T>({ csv }: Pick<ListLayout<T>, 'csv'>, item: T): string {
  return `${Object.values(csv)
    .map((value) => csvCell(value(item)))
    .join(',')}\n`;
}

function csvCell(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  return typeof cell === 'number' ? String(cell) : formatCsvText(cellText(cell));
}

type CellField<T> = { [Name in keyof T]: T[Name] extends Cell ? Name : never }[keyof T] & string;

/** A layout whose table and CSV have the same fields of the items. @param fields by the headings of the table */
export function fieldLayout<T>(fields: Readonly<Record<string, CellField<T>>>): ListLayout<T> {
  const csv = fieldColumns<T>(...Object.values(fields));
  const cells = Object.values(csv);
  return { headings: Object.keys(fields), row: (item) => cells.map((cellOfItem) => cellOfItem(item)), csv };
}

/** Columns that are fields of the items, under the names that they have in JSON. */
export function fieldColumns<T>(...names: CellField<T>[]): Record<string, (item: T) => Cell> {
  return Object.fromEntries(names.map((name) => [name, (item: T) => cellOf(item[name])]));
}

export function cellOf(value: unknown): Cell {
  if (Array.isArray(value)) return value.map(String);
  return typeof value === 'string' || typeof value === 'number' ? value : null;
}
