import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { readBusiestKeyUsage, type BusyKeyUsage } from '../operations/busiest-key-usage.ts';
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

export function topCommand(): Command {
  const [output, json] = listOptions();
  return new Command('top')
    .description('keys with the most requests in the last minute; refreshes on a terminal until Ctrl-C')
    .option('--count <n>', 'number of keys', countArgument(1000), 15)
    .addOption(output)
    .addOption(json)
    .action(async ({ count, ...options }: { count: number } & ListOptions) => {
      const format = outputFormat(options);
      await withRedis(async (session) => {
        if (format !== 'table' || !process.stdout.isTTY) {
          return printList(format, layout, onePage(await readBusiestKeyUsage(session, count)));
        }
        for (;;) {
          const rows = await retryWhileUnavailable(() => readBusiestKeyUsage(session, count));
          process.stdout.write(clearScreen);
          await printList(format, layout, onePage(rows));
          await sleep(refreshMs);
        }
      });
    });
}

const layout: ListLayout<BusyKeyUsage> = {
  headings: ['ID', 'NAME', 'PLAN', 'REQUESTS/MIN', 'REFUSED', 'MINUTE', 'DAY', 'STATE'],
  row: ({ id, name, plan, requests, refused, minute, day, state }) => [
    id,
    name,
    plan,
    requests,
    refused,
    `${minute.used}/${minute.limit ?? '?'}`,
    `${day.used}/${day.limit ?? '?'}`,
    state,
  ],
  csv: {
    ...fieldColumns<BusyKeyUsage>('id', 'name', 'plan', 'requests', 'refused', 'state'),
    minuteUsed: ({ minute }) => minute.used,
    minuteLimit: ({ minute }) => minute.limit,
    dayUsed: ({ day }) => day.used,
    dayLimit: ({ day }) => day.limit,
  },
};
