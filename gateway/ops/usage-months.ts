import { Command } from 'commander';
import { lastMonths, readUsageMonths, unitsOf, type MonthUsage } from '../operations/usage-months.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import {
  fieldColumns,
  listOptions,
  onePage,
  outputFormat,
  printList,
  type ListLayout,
  type ListOptions,
} from './list-output.ts';
import { countArgument } from './options.ts';
import { createProgressLine } from './progress-line.ts';
import { withRedis } from './redis-session.ts';

const layout: ListLayout<MonthUsage> = {
  headings: ['MONTH', 'CUSTOMERS', 'SERVED', 'REFUSED', 'UNITS'],
  row: (use) => [use.month, use.customers, use.served, use.refused, unitsOf(use)],
  csv: { ...fieldColumns('month', 'customers', 'served', 'refused'), units: unitsOf },
};

const [usualMonths, maxMonths] = [12, 120];

interface MonthsOptions extends ListOptions {
  months: number;
}

export function usageMonthsCommand(): Command {
  const [output, json] = listOptions();
  return new Command('months')
    .description('use of all customers by month, this one last; as JSON with the ten largest of each')
    .option('--months <n>', 'number of months', countArgument(maxMonths), usualMonths)
    .addOption(output)
    .addOption(json)
    .action(async (options: MonthsOptions) => {
      const format = outputFormat(options);
      const months = await withRedis(async (session) => {
        const listed = await session.redis.zcard(redisKeys.customers);
        const progress = createProgressLine('customers');
        try {
          return await readUsageMonths(session, lastMonths(session.now(), options.months), (customers) =>
            progress.update(customers, listed),
          );
        } finally {
          progress.clear();
        }
      });
      await printList(format, layout, onePage(months));
    });
}
