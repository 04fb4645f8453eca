import { Command, Option } from 'commander';
import { customerState, readCustomerUse } from '../../control/customers/customers.ts';
import { showCustomer } from '../../control/customers/stored-customers.ts';
import { readKeyDetail } from '../../control/keys/key-view.ts';
import type { WindowView } from '../../control/keys/key-windows.ts';
import type { Session } from '../../control/session.ts';
import { retentionField } from '../../limits/setting-fields.ts';
import { byWindow } from '../../limits/windows.ts';
import { isCustomerId } from '../../platform/redis/redis-keys.ts';
import { outputFormat, outputOption, type ListOptions, type OutputFormat } from './list-output.ts';
import { countArgument, dateArgument, idArgument, jsonOption } from './options.ts';
import { printFields, printJson } from './output.ts';
import { withRedis } from './redis-session.ts';
import { printDay, printLastDays } from './usage-days.ts';
import { usageExportCommand } from './usage-export.ts';

interface UsageOptions extends ListOptions {
  days?: number;
  day?: number;
}

export function usageCommand(): Command {
  return new Command('usage')
    .description('what customers use of their limits, and have used')
    .addCommand(showCommand())
    .addCommand(usageExportCommand());
}

function showCommand(): Command {
  return new Command('show')
    .description('use of a key, or of a customer, in each window, strikes and ban')
    .argument('<id>', '', idArgument)
    .addOption(
      new Option('--days <n>', 'use of each of the last UTC days, today included, instead')
        .argParser(countArgument(retentionField.max + 1))
        .conflicts('day'),
    )
    .option('--day <date>', 'use of one UTC date instead', dateArgument)
    .addOption(outputOption('format of --days: table, json or csv'))
    .addOption(jsonOption())
    .action(async (id: string, options: UsageOptions, command: Command) => {
      const format = outputFormat(options);
      if (format === 'csv' && options.days === undefined) {
        command.error('error: --output csv prints a list: give --days N as well');
      }
      await printUsage(id, options, format);
    });
}

async function printUsage(id: string, { days, day }: UsageOptions, format: OutputFormat): Promise<void> {
  if (days !== undefined) return printLastDays(id, days, format);
  if (day !== undefined) return printDay(id, day, format === 'json' ? true : undefined);
  const {
    windows,
    ban = null,
    strikes,
    strikesToBan,
    ...shown
  } = await withRedis((session) => readUsage(session, id));
  if (format === 'json') return printJson({ ...shown, ...windows, strikes, strikesToBan, ban });
  printFields({
    ...shown,
    ...byWindow((window) => windows[window] && describeWindow(windows[window])),
    ...(strikes !== undefined && { strikes: describeStrikes(strikes, strikesToBan) }),
    ban: ban === null ? null : `${ban.reason}; ends at ${ban.endsAt ?? 'no set time'}`,
  });
}

/** A customer has no strikes and no ban: those are of keys. */
async function readUsage(session: Session, id: string) {
  if (!isCustomerId(id)) {
    const { name, plan, state, windows, strikes, strikesToBan, ban } = await readKeyDetail(session, id);
    return { id, name, plan, state, windows, strikes, strikesToBan, ban };
  }
  const record = await showCustomer(session.redis, id);
  const { windows } = await readCustomerUse(session, record);
  const { name, plan } = record;
  return { id, name, plan, state: customerState(record), windows };
}

function describeStrikes(strikes: number, toBan: number | null = null): string {
  return toBan === null
    ? `${strikes}; the ban policy is off or invalid, see: ops policy show`
    : `${strikes} of ${toBan}`;
}

function describeWindow({ used, limit, remaining, resetsAt }: WindowView): string {
  if (limit === null) return `${used} used; the limit is invalid, see: ops plans list`;
  return `${used} of ${limit} used, ${remaining} remaining, resets at ${resetsAt}`;
}
