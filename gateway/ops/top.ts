import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { readBusiestKeys, type BusyKey } from '../operations/busiest-keys.ts';
import { ignoreInvalid } from '../operations/invalid-operation.ts';
import { createUsageReader, type KeyUsage } from '../operations/key-usage.ts';
import type { Session } from '../operations/session.ts';
import { countArgument, jsonOption } from './options.ts';
import { printJson, printTable } from './output.ts';
import { retryWhileUnavailable, withRedis } from './redis-session.ts';

const refreshMs = 2000;

/** Moves the cursor to the top left corner, and clears the screen below. */
const clearScreen = '\u{1B}[H\u{1B}[J';

export function topCommand(): Command {
  return new Command('top')
    .description('keys with the most requests in the last minute; refreshes on a terminal until Ctrl-C')
    .option('--count <n>', 'number of keys', countArgument(1000), 15)
    .addOption(jsonOption())
    .action(async ({ count, json }: { count: number; json?: true }) => {
      await withRedis(async (session) => {
        if (json) return printJson(await readTop(session, count));
        if (!process.stdout.isTTY) return printTop(await readTop(session, count));
        for (;;) {
          const rows = await retryWhileUnavailable(() => readTop(session, count));
          process.stdout.write(clearScreen);
          printTop(rows);
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

function printTop(rows: readonly TopRow[]): void {
  printTable(
    ['ID', 'NAME', 'PLAN', 'REQUESTS/MIN', 'REFUSED', 'MINUTE', 'DAY', 'STATE'],
    rows.map(({ id, name, plan, requests, refused, minute, day, state }) => [
      id,
      name,
      plan,
      requests,
      refused,
      `${minute.used}/${minute.limit ?? '?'}`,
      `${day.used}/${day.limit ?? '?'}`,
      state,
    ]),
  );
}
