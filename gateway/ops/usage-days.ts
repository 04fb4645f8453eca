import { dayNumberOf } from '../limits/utc-day.ts';
import type { Session } from '../operations/session.ts';
import { findCustomerId } from '../operations/stored-customers.ts';
import { unitsOf } from '../operations/usage-months.ts';
import { readDays, type Days } from '../operations/usage-record.ts';
import type { DayUsage } from '../quota/usage-days.ts';
import { fieldLayout, printList, type ListLayout, type OutputFormat } from './list-output.ts';
import { printJson, printResult } from './output.ts';
import { withRedis } from './redis-session.ts';

const shown = fieldLayout<DayUsage>({
  DATE: 'date',
  PLAN: 'plan',
  SERVED: 'served',
  REFUSED: 'refused',
  'BANNED SECONDS': 'bannedSeconds',
});
const layout: ListLayout<DayUsage> = {
  ...shown,
  csv: { ...shown.csv, units: unitsOf },
};

/** For keys that call operations that cost more than one. */
const layoutWithUnits: ListLayout<DayUsage> = {
  ...layout,
  headings: [...layout.headings, 'UNITS'],
  row: (day) => [...layout.row(day), unitsOf(day)],
};

/** Prints the use of a key on each of the last days, today last. */
export async function printLastDays(id: string, count: number, format: OutputFormat): Promise<void> {
  const days = await readKeyDays(id, ({ now }) => {
    const today = dayNumberOf(now());
    return { from: today - count + 1, to: today };
  });
  if (format === 'json') return printJson({ id, days });
  const costsMore = days.some(({ units }) => units !== undefined);
  await printList(format, costsMore ? layoutWithUnits : layout, days);
  if (format !== 'table' || !process.stdout.isTTY) return;
  const served = days.map((day) => day.served);
  process.stdout.write(`\n${sparkline(served)}  served, at most ${Math.max(...served)} a day\n`);
}

/** @param day number of the day since the Unix epoch */
export async function printDay(id: string, day: number, json: true | undefined): Promise<void> {
  const [use] = await readKeyDays(id, () => ({ from: day, to: day }));
  printResult({ id, ...use }, json);
}

function readKeyDays(id: string, daysOf: (session: Session) => Days): Promise<DayUsage[]> {
  return withRedis(async (session) =>
    readDays(session, await findCustomerId(session.redis, id), daysOf(session)),
  );
}

const bars = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** Draws a bar for each value, the largest at full height; a space for 0. */
function sparkline(values: readonly number[]): string {
  const max = Math.max(0, ...values);
  return values
    .map((value) => (value <= 0 ? ' ' : (bars[Math.ceil((value / max) * bars.length) - 1] ?? '')))
    .join('');
}
