import { z } from 'zod';
import { dayNumberOf } from '../limits/utc-day.ts';
import type { ReadingSession } from './session.ts';
import { readUseByCustomer, type Days, type UsageRow } from './usage-record.ts';

const counts = z.object({
  served: z.int().describe('Requests that counted towards the quotas'),
  units: z.exactOptional(
    z.int().describe('Units of the quotas that these cost, if some of them cost more than one'),
  ),
  refused: z.int().describe('Requests that were answered with 429'),
});

export const customerMonthSchema = counts.extend({
  id: z.string().describe('Id of the customer'),
  name: z.string(),
  plan: z.string().nullable().describe('Plan on the last day with use; null if it is not known'),
});

export const monthUsageSchema = counts
  .extend({
    month: z
      .string()
      .meta({ pattern: String.raw`^\d{4}-\d\d$` })
      .describe('UTC'),
    customers: z.int().describe('Customers with requests or a ban'),
    largest: z.array(customerMonthSchema).describe('Customers with the most units, largest first'),
  })
  .meta({ id: 'MonthUsage' });

export type MonthUsage = z.infer<typeof monthUsageSchema>;
type CustomerMonth = z.infer<typeof customerMonthSchema>;

const largestCount = 10;

/** A month as YYYY-MM. */
export const monthPattern = /^\d{4}-(?:0[1-9]|1[0-2])$/;

/**
 * Adds up the use of all customers by month. The sums are those of exportUsage. 100,000 customers take half a minute for each month.
 * @param months as YYYY-MM without a gap, oldest first
 * @param onPage called after each page of customers with the number of customers in the index that are done, and the sums so far
 */
export async function readUsageMonths(
  session: ReadingSession,
  months: readonly string[],
  onPage: (customers: number, soFar: MonthUsage[]) => unknown,
): Promise<MonthUsage[]> {
  const sums = new Map(months.map((month) => [month, unusedMonth(month)]));
  const days = { from: daysOfMonth(months[0] ?? '').from, to: daysOfMonth(months.at(-1) ?? '').to };
  for await (const { customers, done } of readUseByCustomer(session, days)) {
    for (const [month, use] of customers.flatMap(monthsOf)) {
      const sum = sums.get(month);
      if (sum !== undefined) addTo(sum, use);
    }
    await onPage(done, [...sums.values()]);
  }
  return [...sums.values()];
}

/** Use of each customer in one month, in pages. Customers without use are left out. @param month as YYYY-MM */
export async function* readMonthByCustomer(
  session: ReadingSession,
  month: string,
): AsyncGenerator<CustomerMonth[]> {
  for await (const { customers } of readUseByCustomer(session, daysOfMonth(month))) {
    yield customers.flatMap(monthsOf).map(([, use]) => use);
  }
}

/** @returns the first and the last day of a month as YYYY-MM */
export function daysOfMonth(month: string): Days {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return { from: dayNumberOf(Date.UTC(year, number - 1, 1)), to: dayNumberOf(Date.UTC(year, number, 1)) - 1 };
}

/** @returns months as YYYY-MM, the one of the time last */
export function lastMonths(nowMs: number, count: number): string[] {
  const now = new Date(nowMs);
  return Array.from({ length: count }, (_, index) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - (count - 1 - index), 1))
      .toISOString()
      .slice(0, 7),
  );
}

export const unusedMonth = (month: string): MonthUsage => ({
  month,
  customers: 0,
  served: 0,
  refused: 0,
  largest: [],
});

/** Adds up the days of one customer by month. */
function monthsOf(rows: readonly UsageRow[]): [month: string, CustomerMonth][] {
  return Array.from(
    Map.groupBy(rows, ({ date }) => date.slice(0, 7)),
    ([month, days]) => {
      const { id = '', name = '' } = days[0] ?? {};
      const plan = days.findLast((day) => day.plan !== null)?.plan ?? null;
      const use: CustomerMonth = { id, name, plan, served: 0, refused: 0 };
      for (const day of days) addCounts(use, day);
      return [month, use];
    },
  );
}

function addTo(sum: MonthUsage, use: CustomerMonth): void {
  sum.customers += 1;
  addCounts(sum, use);
  const smallest = sum.largest.at(-1);
  if (unitsOf(use) === 0) return;
  if (sum.largest.length === largestCount && smallest && unitsOf(use) <= unitsOf(smallest)) return;
  sum.largest = [...sum.largest, use]
    .toSorted((one, other) => unitsOf(other) - unitsOf(one))
    .slice(0, largestCount);
}

type Counts = z.infer<typeof counts>;

/** `units` is there only if it differs from `served`, as in the record of a day. */
function addCounts(sum: Counts, { served, refused, units = served }: Counts): void {
  const sumOfUnits = unitsOf(sum) + units;
  sum.served += served;
  sum.refused += refused;
  if (sumOfUnits !== sum.served) sum.units = sumOfUnits;
}

export const unitsOf = ({ served, units = served }: Pick<Counts, 'served' | 'units'>): number => units;
