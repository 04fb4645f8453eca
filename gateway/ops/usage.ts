import { Command, Option } from 'commander';
import { retentionField } from '../limits/setting-fields.ts';
import { byWindow } from '../limits/windows.ts';
import { UnknownKey } from '../operations/invalid-operation.ts';
import { createUsageReader, type KeyUsage } from '../operations/key-usage.ts';
import type { BanPolicy } from '../quota/ban-policy.ts';
import { dayArgument } from './day-argument.ts';
import { outputFormat, outputOption, type ListOptions, type OutputFormat } from './list-output.ts';
import { countArgument, idArgument, jsonOption } from './options.ts';
import { printFields, printJson } from './output.ts';
import { withRedis } from './redis-session.ts';
import { printDay, printLastDays } from './usage-days.ts';
import { unknownCommand } from './usage-error.ts';
import { usageExportCommand } from './usage-export.ts';
import { usageMonthsCommand } from './usage-months.ts';
import { usageResetCommand, usageRetentionCommand } from './usage-retention.ts';

interface UsageOptions extends ListOptions {
  days?: number;
  day?: number;
}

export function usageCommand(): Command {
  return new Command('usage')
    .description('requests of a key in each window, its strikes and its ban')
    .argument('<id>', '', idArgument)
    .addOption(
      new Option('--days <n>', 'use of each of the last UTC days, today included, instead')
        .argParser(countArgument(retentionField.max + 1))
        .conflicts('day'),
    )
    .option('--day <date>', 'use of one UTC date instead; also today or yesterday', dayArgument)
    .addOption(outputOption('format of --days: table, json or csv'))
    .addOption(jsonOption())
    .enablePositionalOptions()
    .addCommand(usageExportCommand())
    .addCommand(usageMonthsCommand())
    .addCommand(usageResetCommand())
    .addCommand(usageRetentionCommand())
    .action(async (id: string, options: UsageOptions, command: Command) => {
      const format = outputFormat(options);
      if (format === 'csv' && options.days === undefined) {
        command.error('error: --output csv prints a list: give --days N as well');
      }
      try {
        await printUsage(id, options, format);
      } catch (error) {
        // What was meant may be a command below this one.
        if (error instanceof UnknownKey && !id.startsWith('key_')) unknownCommand(command, id, error.message);
        throw error;
      }
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

function describeWindow({ used, limit, remaining, resetsAt }: KeyUsage['minute']): string {
  if (limit === null) return `${used} used; the limit is invalid, see: ops plans list`;
  return `${used} of ${limit} used, ${remaining} remaining, resets at ${resetsAt}`;
}
