import { Command } from 'commander';
import { createUsageReader, type KeyUsage } from '../operations/key-usage.ts';
import { jsonOption, type JsonOption } from './options.ts';
import { writeFields, writeJson } from './output.ts';
import { withRedis } from './redis-connection.ts';

export function usageCommand(): Command {
  return new Command('usage')
    .description('what a key has used of both windows, and whether it is banned')
    .argument('<id>')
    .addOption(jsonOption())
    .action(async (id: string, { json }: JsonOption) => {
      const { policy, usage } = await withRedis(async (session) => {
        const reader = await createUsageReader(session);
        return { policy: reader.policy, usage: await reader.read(id) };
      });
      if (json) return writeJson(usage);
      const { minute, day, ban, violations, ...key } = usage;
      writeFields({
        ...key,
        minute: windowText(minute),
        day: windowText(day),
        violations:
          policy === undefined
            ? `${violations}; the ban policy is unusable, see: ops policy show`
            : `${violations} of ${policy.violations} within ${policy.windowSeconds} s`,
        ban: ban === null ? null : `${ban.reason}; ends at ${ban.endsAt || 'no time'}`,
      });
    });
}

function windowText({ used, limit, remaining, resetsAt }: KeyUsage['minute']): string {
  if (limit === null) return `${used} used; the limit is unusable, see: ops plans list`;
  return `${used} of ${limit} used, ${remaining} remaining, resets at ${resetsAt}`;
}
