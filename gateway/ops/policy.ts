import { Command, InvalidArgumentError, Option } from 'commander';
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

function zeroOrMore(text: string): number {
  if (!/^\d{1,9}(\.\d{1,3})?$/.test(text)) throw new InvalidArgumentError('It must be a number, 0 or more.');
  return Number(text);
}

function refuseViolations(): never {
  throw new InvalidArgumentError('Violations belonged to the first ban policy; see --strikes.');
}

type SetOptions = Partial<BanPolicy> & ChangeOptions;

function setCommand(): Command {
  return new Command('set')
    .description('change the ban policy; in force on all gateways within a second')
    .option('--enabled <boolean>', 'false switches new bans off', booleanArgument)
    .option('--grace-seconds <n>', 'time after the first refusal in which none is a strike', zeroOrMore)
    .option('--strikes <n>', 'strikes (refused requests after the grace period) that lead to a ban', number)
    .option('--strikes-per-limit <x>', 'strikes for each request of the minute limit, if more', zeroOrMore)
    .option('--window-seconds <n>', 'time within which the strikes lead to a ban', number)
    .option('--ban-seconds <n>', 'length of the first ban; doubles if the key goes on during it', number)
    .addOption(new Option('--violations <n>').argParser(refuseViolations).hideHelp())
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
