import { Command } from 'commander';
import { createUsageReader } from './key-usage.ts';
import { jsonOption, type JsonOption } from './options.ts';
import { writeFields, writeJson } from './output.ts';
import { withRedis } from './redis-connection.ts';

export function usageCommand(): Command {
  return new Command('usage')
    .description('what a key has used of both windows, and whether it is banned')
    .argument('<id>')
    .addOption(jsonOption())
    .action(async (id: string, { json }: JsonOption) => {
      const { policy, usage } = await withRedis(async (redis) => {
        const reader = await createUsageReader(redis);
        return { policy: reader.policy, usage: await reader.read(id) };
      });
      if (json) return writeJson(usage);
      const { minute, day, ban, violations, ...key } = usage;
      writeFields({
        ...key,
        minute: `${minute.used} of ${minute.limit} used, ${minute.remaining} remaining, resets at ${minute.resetsAt}`,
        day: `${day.used} of ${day.limit} used, ${day.remaining} remaining, resets at ${day.resetsAt}`,
        violations: `${violations} of ${policy.violations} within ${policy.windowSeconds} s`,
        ban: ban === null ? null : `${ban.reason}; ends at ${ban.endsAt || 'no time'}`,
      });
    });
}
