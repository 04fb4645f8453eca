import { Command, Option } from 'commander';
import { retentionField } from '../limits/setting-fields.ts';
import { byWindow } from '../limits/windows.ts';
import { createUsageReader, type KeyUsage } from '../operations/key-usage.ts';
import type { WindowView } from '../operations/key-windows.ts';
import type { BanPolicy } from '../quota/ban-policy.ts';
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
  const { policy, usage } = await withRedis(async (session) => {
    const reader = await createUsageReader(session);
    return { policy: reader.policy, usage: await reader.read(id) };
  });
  if (format === 'json') return printJson(usage);
  printWindows(usage, policy);
}

function printWindows(usage: KeyUsage, policy: BanPolicy | undefined): void {
  const { id, name, plan, state, ban, strikes, strikesToBan } = usage;
  printFields({
    id,
    name,
    plan,
    state,
    ...byWindow((window) => usage[window] && describeWindow(usage[window])),
    strikes: describeStrikes(strikes, strikesToBan, policy),
    ban: ban === null ? null : `${ban.reason}; ends at ${ban.endsAt || 'no set time'}`,
  });
}

function describeStrikes(strikes: number, toBan: number | null, policy: BanPolicy | undefined): string {
  if (policy === undefined) return `${strikes}; the ban policy is invalid, see: ops policy show`;
  return `${strikes} of ${toBan ?? policy.strikes} within ${policy.windowSeconds} s`;
}

function describeWindow({ used, limit, remaining, resetsAt }: WindowView): string {
  if (limit === null) return `${used} used; the limit is invalid, see: ops plans list`;
  return `${used} of ${limit} used, ${remaining} remaining, resets at ${resetsAt}`;
}
