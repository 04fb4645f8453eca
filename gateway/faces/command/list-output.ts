import { Option, type Command } from 'commander';
import { cellOf, csvText, jsonText, pagesOf, type Items } from '../../control/list-text.ts';
import type { Layout } from '../../control/operation.ts';
import { jsonOption, type JsonOption } from './options.ts';
import { print, printTable } from './output.ts';

const outputFormats = ['table', 'json', 'csv'] as const;

/** Adds `--output` and `--json`, its short form. */
export function addListOptions(command: Command): void {
  const output = new Option('--output <format>', 'table, json (one array) or csv').choices(outputFormats);
  command.addOption(output.conflicts('json')).addOption(jsonOption());
}

/** Prints a list page by page. In JSON each item is printed as it is. */
export async function printList<Item>(
  { json, output }: JsonOption & { output?: (typeof outputFormats)[number] },
  items: Items<Item>,
  layout: Layout<Item>,
): Promise<void> {
  const pages = pagesOf(items);
  switch (json ? 'json' : (output ?? layout.format ?? 'table')) {
    case 'json':
      return printAll(jsonText(pages, ['[', ']\n']));
    case 'csv': {
      const fields =
        layout.csv ?? Object.values(layout.columns).filter((column) => typeof column !== 'function');
      return printAll(csvText(pages, fields));
    }
    case 'table': {
      const columns = shownColumns(items, layout);
      const headings = columns.map(({ heading }) => heading);
      return printTable(headings, items, (item) => columns.map(({ cell }) => cell(item)));
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
