import { z } from 'zod';
import {
  customerMonthSchema,
  daysOfMonth,
  lastMonths,
  monthPattern,
  monthUsageSchema,
  readMonthByCustomer,
  readUsageMonths,
  unusedMonth,
  type MonthUsage,
} from '../../operations/usage-months.ts';
import { exportUsage, usageCsv } from '../../operations/usage-record.ts';
import { redisKeys } from '../../redis/redis-keys.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import {
  countingSchema,
  createBackgroundRead,
  describeCount,
  type BackgroundRead,
} from './background-read.ts';
import { listOf } from './results.ts';
import { route, type Api } from './route.ts';

const shownMonths = 12;
const [minuteMs, hourMs] = [60_000, 3_600_000];
/** Of the present month. */
const maxAgeMs = 5 * minuteMs;
/** Past months change only if what was served without Redis is added to them. With 100,000 keys they take minutes. */
const pastMaxAgeMs = hourMs;

/** Creates the read of the last months, which serves all consoles of this process. */
export function createUsageMonths({ read }: Pick<ApiDependencies, 'read'>): Api['usageMonths'] {
  const readOf = (months: readonly string[], ageMs: number) =>
    createBackgroundRead<MonthUsage[]>({
      read,
      maxAgeMs: ageMs,
      run: (session, onPage) => readUsageMonths(session, months, onPage),
    });
  const describe = async (months: BackgroundRead<MonthUsage[]>) =>
    describeCount(read, await months.state(), ({ redis }) => redis.zcard(redisKeys.customers));
  let reads: Record<'past' | 'present', BackgroundRead<MonthUsage[]>> | undefined;
  let readMonth = '';

  return async function usageMonths() {
    const months = await read(({ now }) => Promise.resolve(lastMonths(now(), shownMonths)));
    const [month = ''] = months.slice(-1);
    if (reads === undefined || month !== readMonth) {
      reads = { past: readOf(months.slice(0, -1), pastMaxAgeMs), present: readOf([month], maxAgeMs) };
      readMonth = month;
    }
    const [past, present] = await Promise.all([describe(reads.past), describe(reads.present)]);
    const known = [past, present].flatMap(({ value = [] }) => value);
    return {
      value: months.map((name) => known.find((use) => use.month === name) ?? unusedMonth(name)),
      // Those of past months are older.
      asOf: present.asOf === null ? null : past.asOf,
      counting: past.counting ?? present.counting,
    };
  };
}

export const usageMonthsSchema = z.object({
  items: z.array(monthUsageSchema).describe('Twelve months, oldest first, the present one included'),
  asOf: z.iso.datetime().nullable().describe('Null while the sums are those of the customers read so far'),
  counting: countingSchema,
});

const monthInput = z.strictObject({
  month: z
    .string('has to be given')
    .regex(monthPattern, 'has to be a month such as 2026-11')
    .describe('UTC month'),
});

/** Use of all customers by month. */
export const usageRoutes = [
  route.get('/usage/months', {
    operationId: 'listUsageMonths',
    summary: 'Use of all customers by month, with the largest of each',
    description:
      'All customers have to be read. The sums serve all consoles of a gateway for five minutes, those of past months for an hour.',
    responds: 'The last twelve UTC months',
    result: usageMonthsSchema,
    handle: async (_call, { usageMonths }) => {
      const { value = [], asOf, counting } = await usageMonths();
      return { items: value, asOf, counting };
    },
  }),
  route.get('/usage/export', {
    operationId: 'exportUsage',
    summary: 'Use of all customers on each day of a month as CSV, as `ops usage export` prints it',
    input: monthInput,
    responds: 'A row for each key and day with use',
    text: 'text/csv',
    handle: ({ res, input: { month } }, { downloadUsage }) =>
      downloadUsage(res, {
        contentType: 'text/csv; charset=utf-8',
        fileName: `usage-${month}.csv`,
        write: (session) => usageCsv(exportUsage(session, daysOfMonth(month))),
      }),
  }),
  route.get('/usage/customers', {
    operationId: 'listCustomerUsage',
    summary: 'Use of each customer in a month, in one response',
    description:
      'Customers without use are left out. A response that ends early, since Redis was lost, is no valid JSON.',
    input: monthInput,
    responds: 'All customers with use, those that still exist by time of creation first',
    streamed: listOf(customerMonthSchema),
    handle: ({ res, input: { month } }, { downloadUsage }) =>
      downloadUsage(res, {
        contentType: 'application/json; charset=utf-8',
        write: (session) => listJson(readMonthByCustomer(session, month)),
      }),
  }),
];

/** Writes what listOf describes. */
async function* listJson(pages: AsyncIterable<unknown[]>): AsyncGenerator<string> {
  let separator = '{"items":[';
  for await (const items of pages) {
    if (items.length === 0) continue;
    yield separator + items.map((item) => JSON.stringify(item)).join(',');
    separator = ',';
  }
  yield `${separator === ',' ? '' : separator}],"next":null}`;
}
