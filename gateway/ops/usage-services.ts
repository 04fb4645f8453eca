import { Command, InvalidArgumentError } from 'commander';
import { lastMonths, monthPattern } from '../operations/usage-months.ts';
import { readUseByService, type CustomerServiceUse } from '../operations/usage-services.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import {
  addListOptions,
  fieldColumns,
  fieldLayout,
  outputFormat,
  printList,
  type ListLayout,
  type ListOptions,
} from './list-output.ts';
import { withProgress } from './progress.ts';
import { withRedis } from './redis-session.ts';

const layout: ListLayout<CustomerServiceUse> = {
  ...fieldLayout<CustomerServiceUse>({
    CUSTOMER: 'id',
    NAME: 'name',
    SERVICE: 'service',
    SERVED: 'served',
    UNITS: 'units',
  }),
  csv: fieldColumns('month', 'id', 'name', 'service', 'served', 'units'),
};

interface ServicesOptions extends ListOptions {
  month?: string;
}

export function usageServicesCommand(): Command {
  const command = new Command('services')
    .description(
      'use of all customers by service in a UTC month; nothing unless the gateways have several services',
    )
    .option('--month <month>', 'such as 2026-11 (default: the present one)', monthArgument);
  return addListOptions(command).action(async (options: ServicesOptions) => {
    const format = outputFormat(options);
    await withRedis(async (session) => {
      const { month = lastMonths(session.now(), 1).join('') } = options;
      const total = await session.redis.zcard(redisKeys.customers);
      await withProgress('customers', total, (onProgress) =>
        printList(format, layout, readUseByService(session, month, onProgress)),
      );
    });
  });
}

function monthArgument(text: string): string {
  if (!monthPattern.test(text)) throw new InvalidArgumentError('It is not a month such as 2026-11.');
  return text;
}
