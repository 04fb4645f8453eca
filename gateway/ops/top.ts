import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from 'commander';
import { readBusiestCustomerUsage, type BusyCustomerUsage } from '../operations/busiest-customer-usage.ts';
import { readBusiestKeyUsage, type BusyKeyUsage } from '../operations/busiest-key-usage.ts';
import type { WindowView, WindowViews } from '../operations/key-windows.ts';
import type { Session } from '../operations/session.ts';
import {
  fieldColumns,
  listOptions,
  onePage,
  outputFormat,
  printList,
  type ListLayout,
  type ListOptions,
} from './list-output.ts';
import { countArgument } from './options.ts';
import { retryWhileUnavailable, withRedis } from './redis-session.ts';

const refreshMs = 2000;

/** Moves the cursor to the top left corner, and clears the screen below. */
const clearScreen = '\u{1B}[H\u{1B}[J';

type TopOptions = ListOptions & { count: number; by: 'key' | 'customer' };

export function topCommand(): Command {
  const [output, json] = listOptions();
  return new Command('top')
    .description(
      'keys or customers with the most requests in the last minute; refreshes on a terminal until Ctrl-C',
    )
    .option('--count <n>', 'number of rows', countArgument(1000), 15)
    .addOption(
      new Option('--by <whom>', 'a row for each key, or for each customer with all of its keys')
        .choices(['key', 'customer'])
        .default('key'),
    )
    .addOption(output)
    .addOption(json)
    .action(({ count, by, ...options }: TopOptions) =>
      by === 'key'
        ? showTop(options, keyLayout, (session) => readBusiestKeyUsage(session, count))
        : showTop(options, customerLayout, (session) => readBusiestCustomerUsage(session, count)),
    );
}

async function showTop<T>(
  options: ListOptions,
  layout: ListLayout<T>,
  read: (session: Session) => Promise<T[]>,
): Promise<void> {
  const format = outputFormat(options);
  await withRedis(async (session) => {
    if (format !== 'table' || !process.stdout.isTTY) {
      return printList(format, layout, onePage(await read(session)));
    }
    for (;;) {
      const rows = await retryWhileUnavailable(() => read(session));
      process.stdout.write(clearScreen);
      await printList(format, layout, onePage(rows));
      await sleep(refreshMs);
    }
  });
}

const keyLayout: ListLayout<BusyKeyUsage> = {
  headings: ['ID', 'NAME', 'PLAN', 'REQUESTS/MIN', 'REFUSED', 'MINUTE', 'DAY', 'STATE'],
  row: ({ id, name, plan, requests, refused, minute, day, state }) => [
    id,
    name,
    plan,
    requests,
    refused,
    usedText(minute),
    usedText(day),
    state,
  ],
  csv: {
    ...fieldColumns<BusyKeyUsage>('id', 'name', 'plan', 'requests', 'refused', 'state'),
    ...windowColumns<BusyKeyUsage>(),
  },
};

const customerLayout: ListLayout<BusyCustomerUsage> = {
  headings: ['ID', 'NAME', 'PLAN', 'KEYS', 'REQUESTS/MIN', 'REFUSED', 'MINUTE', 'DAY', 'STATE'],
  row: ({ id, name, plan, keys, requests, refused, minute, day, state }) => [
    id,
    name,
    plan,
    keys,
    requests,
    refused,
    usedText(minute),
    usedText(day),
    state,
  ],
  csv: {
    ...fieldColumns<BusyCustomerUsage>('id', 'name', 'plan', 'keys', 'requests', 'refused', 'state'),
    ...windowColumns<BusyCustomerUsage>(),
  },
};

function usedText({ used, limit }: WindowView): string {
  return `${used}/${limit ?? '?'}`;
}

function windowColumns<T extends Pick<WindowViews, 'minute' | 'day'>>() {
  return {
    minuteUsed: ({ minute }: T) => minute.used,
    minuteLimit: ({ minute }: T) => minute.limit,
    dayUsed: ({ day }: T) => day.used,
    dayLimit: ({ day }: T) => day.limit,
  };
}
