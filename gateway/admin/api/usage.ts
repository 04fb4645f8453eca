import { z } from 'zod';
import { listOf } from '../../operations/list-schemas.ts';
import {
  customerMonthSchema,
  daysOfMonth,
  lastMonths,
  monthPattern,
  monthUsageSchema,
  readMonthByCustomer,
  readUsageMonths,
} from '../../operations/usage-months.ts';
import { exportUsage, usageCsv } from '../../operations/usage-record.ts';
import { route } from './route.ts';

const shownMonths = 12;

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
      'Sums are some seconds old. What a gateway has counted in the seconds before it was killed or lost Redis is missing from them; the use of each customer is exact.',
    responds: 'The last twelve UTC months, oldest first, the present one included',
    result: listOf(monthUsageSchema),
    handle: async (_call, { read }) => ({
      items: await read((session) => readUsageMonths(session, lastMonths(session.now(), shownMonths))),
      next: null,
    }),
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
