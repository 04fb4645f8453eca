import type { Session } from '../operations/session.ts';
import { findKeyHash, readDays, type Days } from '../operations/usage-record.ts';
import type { DayUsage } from '../quota/usage-days.ts';
import { dayNumberOf } from '../quota/utc-day.ts';
import { printFields, printJson, printTable } from './output.ts';
import { withRedis } from './redis-session.ts';
import { sparkline } from './sparkline.ts';

/** Prints the use of a key on each of the last days, today last. */
export async function printLastDays(id: string, count: number, json: true | undefined): Promise<void> {
  const days = await readKeyDays(id, ({ now }) => {
    const today = dayNumberOf(now());
    return { from: today - count + 1, to: today };
  });
  if (json) return printJson({ id, days });
  printTable(
    ['DATE', 'PLAN', 'SERVED', 'REFUSED', 'BANNED SECONDS'],
    days.map(({ date, plan, served, refused, bannedSeconds }) => [
      date,
      plan,
      served,
      refused,
      bannedSeconds,
    ]),
  );
  if (!process.stdout.isTTY) return;
  const served = days.map((day) => day.served);
  process.stdout.write(`\n${sparkline(served)}  served, at most ${Math.max(...served)} a day\n`);
}

/** @param day number of the day since the Unix epoch */
export async function printDay(id: string, day: number, json: true | undefined): Promise<void> {
  const [use] = await readKeyDays(id, () => ({ from: day, to: day }));
  if (json) printJson({ id, ...use });
  else printFields({ id, ...use });
}

function readKeyDays(id: string, daysOf: (session: Session) => Days): Promise<DayUsage[]> {
  return withRedis(async (session) => readDays(session, await findKeyHash(session, id), daysOf(session)));
}
