import { z } from 'zod';
import { dayNumberOf, windowNames } from '../../limits/windows.ts';
import {
  busyCustomerSchema,
  readBusiestCustomerUsage,
  type BusyCustomerUsage,
} from '../customers/busiest-customers.ts';
import type { WindowView } from '../customers/customer-limits.ts';
import { countInput, listOf } from '../list-schemas.ts';
import { list } from '../operation.ts';
import {
  customerMonthSchema,
  lastMonths,
  monthUsageSchema,
  readMonth,
  readMonthByCustomer,
} from './usage-months.ts';
import { exportUsage, usageCsvColumns, usageRowSchema } from './usage-record.ts';

const dateInput = z.iso.date('has to be a date such as 2026-11-22');

const usedText = (window: WindowView | undefined) => window && `${window.used}/${window.limit ?? '?'}`;

export const usageOperations = [
  list({
    operationId: 'listUsageMonths',
    http: 'GET /usage/months',
    summary: 'Use of all customers by month, with the largest of each',
    description:
      'Sums are some seconds old. What a gateway has counted in the seconds before it was killed or lost Redis is missing from them; the use of each customer is exact.',
    responds: 'The last twelve UTC months, oldest first, the present one included',
    result: listOf(monthUsageSchema),
    run: (session) => Promise.all(lastMonths(session.now(), 12).map((month) => readMonth(session, month))),
  }),
  list({
    operationId: 'listCustomerUsage',
    http: 'GET /usage/customers',
    summary: 'Use of each customer in a month, in one response',
    description:
      'Customers without use are left out. A response that ends early, since Redis was lost, is no valid JSON.',
    input: z.strictObject({
      month: z
        .string('has to be given')
        .regex(/^\d{4}-(?:0[1-9]|1[0-2])$/, 'has to be a month such as 2026-11')
        .describe('UTC month'),
    }),
    responds: 'All customers with use, those that still exist by time of creation first',
    result: listOf(customerMonthSchema),
    streams: 'json',
    run: (session, { input: { month } }) => readMonthByCustomer(session, month),
  }),
  list({
    operationId: 'exportUsage',
    http: 'GET /usage/export',
    command: {
      usage: 'usage export',
      examples: ['usage export --from 2026-11-01 --to 2026-11-30 > use.csv'],
      options: { from: { flags: '--from <date>' }, to: { flags: '--to <date>' } },
      columns: {},
      csv: usageCsvColumns,
      format: 'csv',
    },
    summary: 'Use of all customers by day as CSV: a row for each customer and day with use',
    input: z
      .strictObject({
        from: dateInput.describe('first UTC date'),
        to: dateInput.optional().describe('last UTC date (default: today)'),
      })
      .refine(({ from, to }) => to === undefined || from <= to, { path: ['from'], error: 'is after to' }),
    responds: 'The days',
    result: listOf(usageRowSchema),
    streams: { fields: usageCsvColumns, fileName: ({ from }) => `usage-${from}.csv` },
    run: (session, { input: { from, to } }) =>
      exportUsage(session, {
        from: dayNumberOf(Date.parse(from)),
        to: to === undefined ? dayNumberOf(session.now()) : dayNumberOf(Date.parse(to)),
      }),
  }),
  list({
    operationId: 'listBusiest',
    command: {
      usage: 'top',
      examples: ['top --count 20'],
      options: { count: { says: 'number of rows' } },
      columns: {
        ID: 'id',
        NAME: 'name',
        PLAN: 'plan',
        'REQUESTS/MIN': 'requests',
        REFUSED: 'refused',
        ...Object.fromEntries(
          windowNames.map((name) => [name.toUpperCase(), (row: BusyCustomerUsage) => usedText(row[name])]),
        ),
        STATE: 'state',
      },
      csv: ['id', 'name', 'plan', 'requests', 'refused', 'state'],
    },
    summary: 'Customers with the most requests in the last minute',
    input: z.strictObject({ count: countInput(999, 15) }),
    responds: 'The busiest first',
    result: listOf(busyCustomerSchema),
    run: (session, { input: { count } }) => readBusiestCustomerUsage(session, count),
  }),
];
