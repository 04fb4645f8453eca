import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { readBusiestCustomerUsage, type BusyCustomerUsage } from '../operations/busiest-customer-usage.ts';
import { readBusiestKeyUsage, type BusyKeyUsage } from '../operations/busiest-keys.ts';
import type { WindowView } from '../operations/key-windows.ts';
import type { Session } from '../operations/session.ts';
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

type TopOptions = ListOptions & { count: number; by: 'key' | 'customer' };

export function topCommand(): Command {
  const command = new Command('top')
    .description(
      'keys or customers with the most requests in the last minute; refreshes on a terminal until Ctrl-C',
    )
    .option('--count <n>', 'number of rows', countArgument(1000), 15)
    .addOption(
      new Option('--by <whom>', 'a row for each key, or for each customer with all of its keys')
        .choices(['key', 'customer'])
        .default('key'),
    );
  return addListOptions(command).action(async ({ count, by, ...options }: TopOptions) => {
    const format = outputFormat(options);
    const layout = layoutBy(by);
    const read: (session: Session, count: number) => Promise<BusyRow[]> =
      by === 'key' ? readBusiestKeyUsage : readBusiestCustomerUsage;
    await withRedis(async (session) => {
      if (format !== 'table' || !process.stdout.isTTY) {
        return printList(format, layout, await read(session, count));
      }
      for (;;) {
        const rows = await retryWhileUnavailable(() => read(session, count));
        process.stdout.write(clearScreen);
        await printList(format, layout, rows);
        await sleep(refreshMs);
      }
    });
  });
}

/** What both have. */
type BusyRow = Pick<BusyKeyUsage, keyof BusyKeyUsage & keyof BusyCustomerUsage> & { keys?: number };

function layoutBy(by: TopOptions['by']): ListLayout<BusyRow> {
  const shown = fieldLayout<BusyRow>({
    ID: 'id',
    NAME: 'name',
    PLAN: 'plan',
    ...(by === 'customer' && ({ KEYS: 'keys' } as const)),
    'REQUESTS/MIN': 'requests',
    REFUSED: 'refused',
  });
  return {
    headings: [...shown.headings, 'MINUTE', 'DAY', 'STATE'],
    row: (row) => [...shown.row(row), usedText(row.minute), usedText(row.day), row.state],
    csv: {
      ...shown.csv,
      ...fieldColumns<BusyRow>('state'),
      minuteUsed: ({ minute }) => minute.used,
      minuteLimit: ({ minute }) => minute.limit,
      dayUsed: ({ day }) => day.used,
      dayLimit: ({ day }) => day.limit,
    },
  };
}

function usedText({ used, limit }: WindowView): string {
  return `${used}/${limit ?? '?'}`;
}
