import { z } from 'zod';
import { dayNumberOf } from '../../limits/windows.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { isCustomerId, redisKeys, type CustomerId } from '../../platform/redis/redis-keys.ts';
import {
  datesByMonth,
  dayUsage,
  dayUsageSchema,
  readMonthRecords,
  readUsageDays,
  type DayUsage,
} from '../../quota/usage.ts';
import { customerPages } from '../customers/stored-customers.ts';
import { readRetentionDays } from '../plans/settings.ts';
import { scoredPages } from '../scored-pages.ts';
import type { ReadingSession } from '../session.ts';

/** UTC days as numbers of days since the Unix epoch, both included. */
export interface Days {
  from: number;
  to: number;
}

/** Use of one customer on one day, as an export has it. */
export const usageRowSchema = dayUsageSchema.extend({ id: z.string(), name: z.string() });

export type UsageRow = z.infer<typeof usageRowSchema>;

/** Records of a month that are read at once: Redis executes them one after the other, while requests wait. */
const pageMonths = 100;

/** Reads each of the last days, oldest first, today included. Days without use, and those older than the retention, have zeros. */
export async function readLastDays(session: ReadingSession, customerId: CustomerId, count: number) {
  const last = dayNumberOf(session.now());
  const oldest = await oldestDay(session);
  return readUsageDays(session.redis, customerId, { first: last - count + 1, last, oldest });
}

/**
 * All days with use of all customers in pages, by creation of the customer and then by date. Customers that are not in the index
 * any more come last. Takes the memory of a page, whatever the number of customers.
 */
export async function* exportUsage(session: ReadingSession, days: Days): AsyncGenerator<UsageRow[]> {
  for await (const customers of readUseByCustomer(session, days)) {
    yield customers.flat().map((row) => Object.assign(row, { units: row.units ?? row.served }));
  }
}

/** As exportUsage, customer by customer: the days with use of each. */
export async function* readUseByCustomer(session: ReadingSession, days: Days): AsyncGenerator<UsageRow[][]> {
  const { redis } = session;
  const dates = await keptDates(session, days);
  const pageSize = Math.max(1, Math.floor(pageMonths / Math.max(1, dates.size)));
  for await (const ids of customerPages(redis, pageSize)) yield readUse(redis, ids, dates);
  for await (const ids of removedCustomers(redis, [...dates.keys()])) yield readUse(redis, ids, dates);
}

type DatesByMonth = ReadonlyMap<string, readonly string[]>;

/** @returns the dates of a range whose use is kept, as YYYYMMDD by their month as YYYYMM */
export async function keptDates(session: ReadingSession, { from, to }: Days): Promise<DatesByMonth> {
  return datesByMonth(Math.max(from, await oldestDay(session)), Math.min(to, dayNumberOf(session.now())));
}

/** The days with use of each of some customers. */
export const readUse = (redis: RedisClient, ids: readonly CustomerId[], dates: DatesByMonth) =>
  Promise.all(ids.map((id) => readRows(redis, id, dates)));

async function readRows(redis: RedisClient, id: CustomerId, datesByMonth: DatesByMonth): Promise<UsageRow[]> {
  const months = await readMonthRecords(redis, id, [...datesByMonth.keys()]);
  const days: DayUsage[] = [];
  let recorded = '';
  for (const [month, record] of months) {
    const { fields } = record;
    if (fields.size === 0) continue;
    recorded = fields.get('name') ?? recorded;
    for (const date of datesByMonth.get(month) ?? []) {
      const use = dayUsage(record, date);
      if (use.served + use.refused > 0) days.push(use);
    }
  }
  if (days.length === 0) return [];
  // A month that began while Redis had lost the customer has no plan. Its name is for a customer that is gone.
  const [name, plan = null] = await redis.hmget(redisKeys.customer(id), 'name', 'plan').catch(() => []);
  return days.map((use) => Object.assign({ id, name: name ?? recorded }, use, { plan: use.plan ?? plan }));
}

/** The oldest day whose use is kept. Older ones may not be deleted yet. */
async function oldestDay({ redis, now }: ReadingSession): Promise<number> {
  return dayNumberOf(now()) - (await readRetentionDays(redis));
}

/**
 * Finds customers with use in one of the months that the index lacks, such as those that were removed. Each customer once.
 * @param months months as YYYYMM
 */
async function* removedCustomers(redis: RedisClient, months: readonly string[]) {
  const found = new Set<CustomerId>();
  for (const month of months) {
    const ranking = { key: redisKeys.usageRanking(month), order: 'ascending', size: pageMonths } as const;
    for await (const page of scoredPages(redis, ranking)) {
      const ids = new Set(page.map(({ member }) => member).filter(isCustomerId)).difference(found);
      for (const id of ids) found.add(id);
      const indexed = await Promise.all(Array.from(ids, (id) => redis.zscore(redisKeys.customers, id)));
      const unindexed = [...ids].filter((_id, position) => indexed[position] === null);
      if (unindexed.length > 0) yield unindexed;
    }
  }
}

/** Columns of the CSV. They are stable: they are only added, at the end. */
export const usageCsvColumns = ['id', 'name', 'date', 'plan', 'served', 'refused', 'units'] as const;
