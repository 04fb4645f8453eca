import { findCustomerId } from '../../control/customers/stored-customers.ts';
import { unitsOf } from '../../control/usage/usage-months.ts';
import { readDays, readLastDays } from '../../control/usage/usage-record.ts';
import type { DayUsage } from '../../quota/usage-days.ts';
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
  const days = await withRedis(async (session) =>
    readLastDays(session, await findCustomerId(session.redis, id), count),
  );
  if (format === 'json') return printJson({ id, days });
  const costsMore = days.some(({ units }) => units !== undefined);
  await printList(format, costsMore ? layoutWithUnits : layout, days);
}

/** @param day number of the day since the Unix epoch */
export async function printDay(id: string, day: number, json: true | undefined): Promise<void> {
  const [use] = await withRedis(async (session) =>
    readDays(session, await findCustomerId(session.redis, id), { from: day, to: day }),
  );
  printResult({ id, ...use }, json);
}
