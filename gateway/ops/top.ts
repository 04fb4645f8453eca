import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { readBusiestKeys, type BusyKey } from '../operations/busiest-keys.ts';
import { ignoreInvalid } from '../operations/invalid-operation.ts';
import { createUsageReader, type KeyUsage } from '../operations/key-usage.ts';
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
          return printList(format, layout, onePage(await readTop(session, count)));
        }
        for (;;) {
          const rows = await retryWhileUnavailable(() => readTop(session, count));
          process.stdout.write(clearScreen);
          await printList(format, layout, onePage(rows));
          await sleep(refreshMs);
        }
      });
    });
}

type TopRow = Pick<BusyKey, 'requests' | 'refused'> & KeyUsage;

async function readTop(session: Session, count: number): Promise<TopRow[]> {
  const reader = await createUsageReader(session);
  const busiest = await readBusiestKeys(session.redis, count, session.now());
  const rows = await Promise.all(
    busiest.map(async ({ id, requests, refused }) => {
      // Its record may be gone, or invalid.
      const usage = await ignoreInvalid(reader.read(id));
      return usage === undefined ? undefined : Object.assign(usage, { requests, refused });
    }),
  );
  return rows.filter((row) => row !== undefined);
}

const layout: ListLayout<TopRow> = {
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
    ...fieldColumns<TopRow>('id', 'name', 'plan', 'requests', 'refused', 'state'),
    minuteUsed: ({ minute }) => minute.used,
    minuteLimit: ({ minute }) => minute.limit,
    dayUsed: ({ day }) => day.used,
    dayLimit: ({ day }) => day.limit,
  },
};
