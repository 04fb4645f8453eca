import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import {
  readBusiestCustomerUsage,
  type BusyCustomerUsage,
} from '../../control/customers/busiest-customers.ts';
import type { WindowView } from '../../control/customers/customer-limits.ts';
import { windowNames } from '../../limits/windows.ts';
import {
  addListOptions,
  fieldColumns,
  fieldLayout,
  outputFormat,
  printList,
  type ListLayout,
  type ListOptions,
} from './list-output.ts';
import { countArgument } from './options.ts';
import { clearScreen } from './output.ts';
import { retryWhileUnavailable, withRedis } from './redis-session.ts';

const refreshMs = 2000;

export function topCommand(): Command {
  const command = new Command('top')
    .description('customers with the most requests in the last minute; refreshes on a terminal until Ctrl-C')
    .option('--count <n>', 'number of rows', countArgument(1000), 15);
  return addListOptions(command).action(async ({ count, ...options }: ListOptions & { count: number }) => {
    const format = outputFormat(options);
    await withRedis(async (session) => {
      const read = () => readBusiestCustomerUsage(session, count);
      if (format !== 'table' || !process.stdout.isTTY) return printList(format, layout, await read());
      for (;;) {
        const rows = await retryWhileUnavailable(read);
        process.stdout.write(clearScreen);
        await printList(format, layout, rows);
        await sleep(refreshMs);
      }
    });
  });
}

const shown = fieldLayout<BusyCustomerUsage>({
  ID: 'id',
  NAME: 'name',
  PLAN: 'plan',
  'REQUESTS/MIN': 'requests',
  REFUSED: 'refused',
});

const layout: ListLayout<BusyCustomerUsage> = {
  headings: [...shown.headings, ...windowNames.map((name) => name.toUpperCase()), 'STATE'],
  row: (row) => [...shown.row(row), ...windowNames.map((name) => usedText(row[name])), row.state],
  csv: {
    ...shown.csv,
    ...fieldColumns<BusyCustomerUsage>('state'),
    ...Object.fromEntries(
      windowNames.flatMap((name) => [
        [`${name}Used`, (row: BusyCustomerUsage) => row[name]?.used],
        [`${name}Limit`, (row: BusyCustomerUsage) => row[name]?.limit],
      ]),
    ),
  },
};

function usedText(window: WindowView | undefined): string | undefined {
  return window && `${window.used}/${window.limit ?? '?'}`;
}
