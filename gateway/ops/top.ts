import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { unlessRefused } from '../operations/invalid-operation.ts';
import { createUsageReader, type KeyUsage } from '../operations/key-usage.ts';
import { readBusiest, type BusyKey } from '../quota/hot-keys.ts';
import { countArgument, jsonOption } from './options.ts';
import { writeJson, writeTable } from './output.ts';
import { patiently, withRedis, type Session } from './redis-connection.ts';

const refreshMs = 2000;

/** Top left corner, and away with all below. */
const clearScreen = '\u{1B}[H\u{1B}[J';

export function topCommand(): Command {
  return new Command('top')
    .description('the keys with most requests in the last minute; refreshed on a terminal until Ctrl-C')
    .option('--count <n>', 'how many', countArgument(1000), 15)
    .addOption(jsonOption())
    .action(async ({ count, json }: { count: number; json?: true }) => {
      await withRedis(async (session) => {
        if (json) return writeJson(await readTop(session, count));
        if (!process.stdout.isTTY) return writeTop(await readTop(session, count));
        for (;;) {
          const rows = await patiently(() => readTop(session, count));
          process.stdout.write(clearScreen);
          writeTop(rows);
          await sleep(refreshMs);
        }
      });
    });
}

type TopRow = Pick<BusyKey, 'requests' | 'refused'> & KeyUsage;

async function readTop(session: Session, count: number): Promise<TopRow[]> {
  const reader = await createUsageReader(session);
  const busiest = await readBusiest(session.redis, count, session.now());
  const rows = await Promise.all(
    busiest.map(async ({ id, requests, refused }) => {
      // Its record may be gone, or edited into something that can't be read.
      const usage = await unlessRefused(reader.read(id));
      return usage === undefined ? undefined : Object.assign(usage, { requests, refused });
    }),
  );
  return rows.filter((row) => row !== undefined);
}

function writeTop(rows: readonly TopRow[]): void {
  writeTable(
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
