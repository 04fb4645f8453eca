import { Option, type Command } from 'commander';
import { cellOf, csvText, jsonText, pagesOf, type Items } from '../../control/list-text.ts';
import type { Layout } from '../../control/operation.ts';
import { jsonOption, type JsonOption } from './options.ts';
import { print, printTablePages } from './output.ts';

const outputFormats = ['table', 'json', 'csv'] as const;

type OutputFormat = (typeof outputFormats)[number];

/** Adds `--output` and `--json`, its short form. */
export function addListOptions(command: Command): void {
  const output = new Option('--output <format>', 'table, json (one array) or csv').choices(outputFormats);
  command.addOption(output.conflicts('json')).addOption(jsonOption());
}

export const outputFormat = (
  { output, json }: JsonOption & { output?: OutputFormat },
  usual: OutputFormat = 'table',
): OutputFormat => (json ? 'json' : (output ?? usual));

/** Prints a list page by page. In JSON each item is printed as it is. */
export async function printList<Item>(
  format: OutputFormat,
  items: Items<Item>,
  layout: Layout<Item>,
): Promise<void> {
  const pages = pagesOf(items);
  switch (format) {
    case 'json':
      return printAll(jsonText(pages, ['[', ']\n']));
    case 'csv': {
      const fields =
        layout.csv ?? Object.values(layout.columns).filter((column) => typeof column !== 'function');
      return printAll(csvText(pages, fields));
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

async function printAll(texts: AsyncIterable<string>): Promise<void> {
  for await (const text of texts) await print(text);
}

async function* rowPages<T, Row>(pages: ReturnType<typeof pagesOf<T>>, row: (item: T) => Row) {
  for await (const page of pages) if (page.length > 0) yield page.map(row);
}
