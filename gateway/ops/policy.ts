import { Command } from 'commander';
import { createBanPolicyStore } from '../operations/ban-policy-store.ts';
import type { BanPolicy } from '../quota/ban-policy.ts';
import {
  asOption,
  booleanArgument,
  countArgument,
  jsonOption,
  type ChangeOptions,
  type JsonOption,
} from './options.ts';
import { writeFields, writeJson } from './output.ts';
import { withChanges, withRedis } from './redis-connection.ts';

export function policyCommand(): Command {
  return new Command('policy')
    .description('when keys are banned, and for how long')
    .addCommand(showCommand())
    .addCommand(setCommand());
}

function showCommand(): Command {
  return new Command('show')
    .description('the ban policy in force')
    .addOption(jsonOption())
    .action(async ({ json }: JsonOption) => {
      writePolicy(await withRedis((session) => createBanPolicyStore(session).show()), json);
    });
}

/** Larger than any field may be: which is too large, the policy itself knows. */
const number = countArgument(999_999_999);

type SetOptions = Partial<BanPolicy> & ChangeOptions;

function setCommand(): Command {
  return new Command('set')
    .description('change the ban policy; in force on all gateways within a second')
    .option('--enabled <boolean>', 'false bans nobody any more', booleanArgument)
    .option('--violations <n>', 'refused requests that lead to a ban; one counts a second', number)
    .option('--window-seconds <n>', 'within how many seconds', number)
    .option('--ban-seconds <n>', 'length of the first ban; each further one is twice as long', number)
    .option('--max-ban-seconds <n>', 'length of the longest ban', number)
    .option('--reset-seconds <n>', 'time without a ban after which the next one is a first one again', number)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async ({ as, json, ...change }: SetOptions, command: Command) => {
      if (Object.keys(change).length === 0) command.error('error: nothing to set: see --help');
      writePolicy(await withChanges(as, (session) => createBanPolicyStore(session).set(change)), json);
    });
}

function writePolicy(policy: BanPolicy, json: true | undefined): void {
  if (json) writeJson(policy);
  else writeFields({ ...policy, enabled: String(policy.enabled) });
}
