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
import { printFields, printJson } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';

export function policyCommand(): Command {
  return new Command('policy')
    .description('conditions and length of bans')
    .addCommand(showCommand())
    .addCommand(setCommand());
}

function showCommand(): Command {
  return new Command('show')
    .description('the ban policy')
    .addOption(jsonOption())
    .action(async ({ json }: JsonOption) => {
      printPolicy(await withRedis((session) => createBanPolicyStore(session).show()), json);
    });
}

/** Larger than any field may be: the policy's schema has the limits of each field. */
const number = countArgument(999_999_999);

type SetOptions = Partial<BanPolicy> & ChangeOptions;

function setCommand(): Command {
  return new Command('set')
    .description('change the ban policy; in force on all gateways within a second')
    .option('--enabled <boolean>', 'false switches new bans off', booleanArgument)
    .option('--violations <n>', 'refused requests that lead to a ban; one is counted a second', number)
    .option('--window-seconds <n>', 'time within which the violations lead to a ban', number)
    .option('--ban-seconds <n>', 'length of the first ban; each further one is twice as long', number)
    .option('--max-ban-seconds <n>', 'length of the longest ban', number)
    .option('--reset-seconds <n>', 'time without a ban after which the next one is a first one', number)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async ({ as, json, ...change }: SetOptions, command: Command) => {
      if (Object.keys(change).length === 0) command.error('error: nothing to set: see --help');
      printPolicy(await withChanges(as, (session) => createBanPolicyStore(session).set(change)), json);
    });
}

function printPolicy(policy: BanPolicy, json: true | undefined): void {
  if (json) printJson(policy);
  else printFields({ ...policy, enabled: String(policy.enabled) });
}
