import { Command } from 'commander';
import { lastMonths, readUsageMonths, unitsOf, type MonthUsage } from '../operations/usage-months.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { fieldColumns, listing, type ListLayout } from './list-output.ts';
import { countArgument } from './options.ts';
import { withProgressLine } from './progress.ts';

const layout: ListLayout<MonthUsage> = {
  headings: ['MONTH', 'CUSTOMERS', 'SERVED', 'REFUSED', 'UNITS'],
  row: (use) => [use.month, use.customers, use.served, use.refused, unitsOf(use)],
  csv: { ...fieldColumns('month', 'customers', 'served', 'refused'), units: unitsOf },
};

const [usualMonths, maxMonths] = [12, 120];

export function usageMonthsCommand(): Command {
  const command = new Command('months')
    .description('use of all customers by month, this one last; as JSON with the ten largest of each')
    .option('--months <n>', 'number of months', countArgument(maxMonths), usualMonths);
  return listing(command, layout, async (session) => {
    const months = lastMonths(session.now(), command.opts<{ months: number }>().months);
    const listed = await session.redis.zcard(redisKeys.customers);
    return withProgressLine('customers', (onProgress) =>
      readUsageMonths(session, months, (customers) => onProgress(customers, listed)),
    );
  });
}
