import { z } from 'zod';
import { dayNumberOf } from '../../limits/windows.ts';
import { isCustomerId, redisKeys } from '../../platform/redis/redis-keys.ts';
import { dayUsageSchema } from '../../quota/usage.ts';
import { readUsageTotals } from '../../quota/use-counts.ts';
import type { ReadingSession } from '../session.ts';
import { keptDates, readUse, readUseByCustomer, type Days, type UsageRow } from './usage-record.ts';

const counts = dayUsageSchema.pick({ served: true, units: true, refused: true });

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
    customers: z.int().describe('Customers with requests'),
    plans: z.array(counts.extend({ plan: z.string() })).describe('Plans with requests, by name'),
    largest: z.array(customerMonthSchema).describe('Customers with the most units, largest first'),
  })
  .meta({ id: 'MonthUsage' });

export type MonthUsage = z.infer<typeof monthUsageSchema>;
type CustomerMonth = z.infer<typeof customerMonthSchema>;

const largestCount = 10;

/** Reads the use of all customers in a month, without reading every customer. @param month as YYYY-MM */
export async function readMonth(session: ReadingSession, month: string): Promise<MonthUsage> {
  const { redis } = session;
  const use: MonthUsage = { month, customers: 0, served: 0, refused: 0, plans: [], largest: [] };
  const dates = await keptDates(session, daysOfMonth(month));
  const name = month.replace('-', '');
  const kept = dates.get(name);
  if (kept === undefined) return use;
  const ranking = redisKeys.usageRanking(name);
  const [totals, customers, leading] = await Promise.all([
    readUsageTotals(redis, name),
    redis.zcard(ranking),
    redis.zrange(ranking, '0', String(largestCount - 1), 'REV'),
  ]);
  use.customers = customers;
  for (const day of totals.filter(({ date }) => kept.includes(date))) {
    let ofPlan = use.plans.find(({ plan }) => plan === day.plan);
    if (ofPlan === undefined) use.plans.push((ofPlan = { plan: day.plan, served: 0, refused: 0 }));
    addCounts(ofPlan, day);
    addCounts(use, day);
  }
  use.plans.sort((one, other) => one.plan.localeCompare(other.plan));
  const largest = await readUse(redis, leading.filter(isCustomerId), dates);
  // Their records are exact, and the ranking is not.
  use.largest = largest
    .flatMap(sumOfMonth)
    .filter((customer) => unitsOf(customer) > 0)
    .toSorted((one, other) => unitsOf(other) - unitsOf(one));
  return use;
}

/** Use of each customer in one month, in pages. Customers without use are left out. @param month as YYYY-MM */
export async function* readMonthByCustomer(session: ReadingSession, month: string) {
  for await (const customers of readUseByCustomer(session, daysOfMonth(month))) {
    yield customers.flatMap(sumOfMonth);
  }
}

/** @returns the first and the last day of a month as YYYY-MM */
function daysOfMonth(month: string): Days {
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

/** Adds up the days of one customer in a month, if there are any. */
function sumOfMonth(days: readonly UsageRow[]): CustomerMonth[] {
  const [first] = days;
  if (first === undefined) return [];
  const { id, name } = first;
  const plan = days.findLast((day) => day.plan !== null)?.plan ?? null;
  const use: CustomerMonth = { id, name, plan, served: 0, refused: 0 };
  for (const day of days) addCounts(use, day);
  return [use];
}

type Counts = z.infer<typeof counts>;

/** `units` is there only if it differs from `served`, as in the record of a day. */
function addCounts(sum: Counts, { served, refused, units = served }: Counts): void {
  const sumOfUnits = unitsOf(sum) + units;
  sum.served += served;
  sum.refused += refused;
  if (sumOfUnits === sum.served) delete sum.units;
  else sum.units = sumOfUnits;
}

export const unitsOf = ({ served, units = served }: Pick<Counts, 'served' | 'units'>): number => units;
