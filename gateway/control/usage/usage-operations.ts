import { listOf } from '../list-schemas.ts';
import { list } from '../operation.ts';
import { lastMonths, monthUsageSchema, readUsageMonths } from './usage-months.ts';

const shownMonths = 12;

export const usageOperations = [
  list({
    operationId: 'listUsageMonths',
    http: 'GET /usage/months',
    summary: 'Use of all customers by month, with the largest of each',
    description:
      'Sums are some seconds old. What a gateway has counted in the seconds before it was killed or lost Redis is missing from them; the use of each customer is exact.',
    responds: 'The last twelve UTC months, oldest first, the present one included',
    result: listOf(monthUsageSchema),
    run: (session) => readUsageMonths(session, lastMonths(session.now(), shownMonths)),
  }),
];
