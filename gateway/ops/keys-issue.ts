import { Command } from 'commander';
import { hasWindow, type ByWindow } from '../limits/windows.ts';
import { issueFurtherKey, issueKey, type FurtherApiKey } from '../operations/keys.ts';
import type { CustomerId } from '../redis/redis-keys.ts';
import { printIssued } from './key-output.ts';
import { addLimitOptions, givenLimits, limitArgument } from './limit-options.ts';
import {
  asOption,
  customerArgument,
  jsonOption,
  nameArgument,
  scopesOption,
  timeAheadArgument,
  type ChangeOptions,
} from './options.ts';
import { withChanges } from './redis-session.ts';
import { required } from './usage-error.ts';

interface IssueOptions extends ChangeOptions, ByWindow<number> {
  plan?: string;
  customer?: CustomerId;
  name?: string;
  expires?: Date;
  scopes?: readonly string[] | 'all';
}

export function keysIssueCommand(): Command {
  const command = new Command('issue')
    .description(
      'issue a key with a customer of its own, or of one that exists; it is shown once and not stored',
    )
    .option('--plan <plan>', 'free, pro, business, enterprise or a plan of your own')
    .option('--name <name>', 'name of the customer, or of its further key', nameArgument)
    .option(
      '--customer <customer>',
      'a further key of this customer, which shares its plan and limits',
      customerArgument,
    )
    .option('--expires <time>', 'time of expiry, ISO 8601, or a duration such as 90d', timeAheadArgument)
    .addOption(scopesOption());
  return addLimitOptions(command, (each) => `own limit ${each}, instead of the plan’s`, limitArgument)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (options: IssueOptions, command: Command) => {
      const { as, json, plan, name, customer, expires: expiresAt, scopes } = options;
      const further = {
        name,
        expiresAt,
        scopes: scopes === 'all' ? undefined : scopes,
      } satisfies Required<FurtherApiKey>;
      if (customer !== undefined) {
        if (plan !== undefined || hasWindow(options)) {
          command.error('error: plan and limits are those of the customer: see ops customers set');
        }
        return printIssued(
          await withChanges(as, (session) => issueFurtherKey(session, customer, further)),
          json,
        );
      }
      const wanted = {
        ...further,
        plan: required(plan, '--plan <plan>', command),
        name: required(name, '--name <name>', command),
        ...givenLimits(options),
      };
      printIssued(await withChanges(as, (session) => issueKey(session, wanted)), json);
    });
}
