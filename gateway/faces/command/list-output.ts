import { Option, type Command } from 'commander';
import { InvalidOperation } from '../../control/invalid-operation.ts';
import type { Items, Layout } from '../../control/operation.ts';
import { cellOf, csvOf } from '../../control/usage/csv-cell.ts';
import { jsonOption, type JsonOption } from './options.ts';
import { print, printJsonArray, printTablePages } from './output.ts';

const outputFormats = ['table', 'json', 'csv'] as const;

type OutputFormat = (typeof outputFormats)[number];

/** Adds `--output` and `--json`, its short form. */
export function addListOptions(command: Command): void {
  const output = new Option('--output <format>', 'table, json (one array) or csv').choices(outputFormats);
  command.addOption(output).addOption(jsonOption());
}

/** @throws InvalidOperation for --json with another format */
export function outputFormat(
  { output, json }: JsonOption & { output?: OutputFormat },
  usual: OutputFormat = 'table',
): OutputFormat {
  if (json && output !== undefined && output !== 'json') {
    throw new InvalidOperation(`--json is short for --output json: do not give it with --output ${output}`);
  }
  return json ? 'json' : (output ?? usual);
}

/** Prints a list page by page. In JSON each item is printed as it is. */
export async function printList<Item>(
  format: OutputFormat,
  items: Items<Item>,
  layout: Layout<Item>,
): Promise<void> {
  const pages = Symbol.asyncIterator in items ? items : onePage(items);
  switch (format) {
    case 'json':
      return printJsonArray(pages);
    case 'csv': {
      const fields =
        layout.csv ?? Object.values(layout.columns).filter((column) => typeof column !== 'function');
      for await (const text of csvOf(pages, fields)) await print(text);
      return;
    }
    case 'table': {
      const columns = shownColumns(items, layout);
      const row = (item: Item) => columns.map(({ cell }) => cell(item));
      return printTablePages(
        columns.map(({ heading }) => heading),
        rowPages(pages, row),
      );
    }
  }
}

function shownColumns<Item>(items: Items<Item>, { columns, sparse = [] }: Layout<Item>) {
  return Object.entries(columns)
    .map(([heading, column]) => ({
      heading,
      cell: typeof column === 'function' ? column : (item: Item) => cellOf(item[column]),
    }))
    .filter(
      ({ heading, cell }) =>
        !sparse.includes(heading) ||
        Symbol.asyncIterator in items ||
        items.some((item) => ![null, undefined, ''].includes(cell(item)?.toString())),
    );
}

async function* onePage<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  yield await Promise.resolve(items);
}

async function* rowPages<T, Row>(pages: AsyncIterable<readonly T[]>, row: (item: T) => Row) {
  for await (const page of pages) if (page.length > 0) yield page.map(row);
}
