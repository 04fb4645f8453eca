import { z } from 'zod';
import { listOf } from '../../control/list-schemas.ts';
import {
  customerMonthSchema,
  daysOfMonth,
  monthPattern,
  readMonthByCustomer,
} from '../../control/usage/usage-months.ts';
import { exportUsage, usageCsv } from '../../control/usage/usage-record.ts';
import { route } from './route.ts';

const monthInput = z.strictObject({
  month: z
    .string('has to be given')
    .regex(monthPattern, 'has to be a month such as 2026-11')
    .describe('UTC month'),
});

/** Use of all customers, streamed. */
export const usageRoutes = [
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
