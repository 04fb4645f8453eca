import { Command, Option } from 'commander';
import { createUsageReader, type KeyUsage } from '../operations/key-usage.ts';
import type { BanPolicy } from '../quota/ban-policy.ts';
import { maxRetentionDays } from '../quota/usage-policy.ts';
import { dayArgument } from './day-argument.ts';
import { countArgument, idArgument, jsonOption, type JsonOption } from './options.ts';
import { printFields, printJson } from './output.ts';
import { withRedis } from './redis-session.ts';
import { printDay, printLastDays } from './usage-days.ts';
import { usageExportCommand } from './usage-export.ts';
import { usageRetentionCommand } from './usage-retention.ts';

interface UsageOptions extends JsonOption {
  days?: number;
  day?: number;
}

export function usageCommand(): Command {
  return new Command('usage')
    .description('requests of a key in both windows, its strikes and its ban')
    .argument('<id>', '', idArgument)
    .addOption(
      new Option('--days <n>', 'use of each of the last UTC days, today included, instead')
        .argParser(countArgument(maxRetentionDays + 1))
        .conflicts('day'),
    )
    .option('--day <date>', 'use of one UTC date instead', dayArgument)
    .addOption(jsonOption())
    .enablePositionalOptions()
    .addCommand(usageExportCommand())
    .addCommand(usageRetentionCommand())
    .action(async (id: string, { json, ...wanted }: UsageOptions) => {
      if (wanted.days !== undefined) return printLastDays(id, wanted.days, json);
      if (wanted.day !== undefined) return printDay(id, wanted.day, json);
      const { policy, usage } = await withRedis(async (session) => {
        const reader = await createUsageReader(session);
        return { policy: reader.policy, usage: await reader.read(id) };
      });
      if (json) return printJson(usage);
      const { minute, day, ban, strikes, strikesToBan, violations: _sameAsStrikes, ...key } = usage;
      printFields({
        ...key,
        minute: describeWindow(minute),
        day: describeWindow(day),
        strikes: describeStrikes(strikes, strikesToBan, policy),
        ban: ban === null ? null : `${ban.reason}; ends at ${ban.endsAt || 'no set time'}`,
      });
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
