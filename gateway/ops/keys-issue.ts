import { Command } from 'commander';
import { changeKeys, printIssued } from './key-store.ts';
import { issueFromFile } from './keys-from-file.ts';
import {
  asOption,
  jsonOption,
  limitArgument,
  nameArgument,
  timeArgument,
  type ChangeOptions,
} from './options.ts';
import { required } from './usage-error.ts';

interface IssueOptions extends ChangeOptions {
  plan?: string;
  name?: string;
  from?: string;
  expires?: Date;
  minute?: number;
  day?: number;
}

export function keysIssueCommand(): Command {
  return new Command('issue')
    .description('issue a key; it is shown once and not stored')
    .option('--plan <plan>', 'free, pro, business, enterprise or a plan of your own')
    .option('--name <name>', 'name of the customer', nameArgument)
    .option('--expires <time>', 'time of expiry, ISO 8601, in UTC unless it has an offset', timeArgument)
    .option('--minute <n>', 'own limit a minute, instead of the plan’s', limitArgument)
    .option('--day <n>', 'own limit a UTC day, instead of the plan’s', limitArgument)
    .option(
      '--from <file>',
      'issue a key for each line of a CSV file: name, plan and, optionally, expires, minute, day',
    )
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (options: IssueOptions, command: Command) => {
      const { plan, name, from, expires: expiresAt, minute, day, as, json } = options;
      if (from !== undefined) {
        const others = [plan, name, expiresAt, minute, day].some((given) => given !== undefined);
        if (others) command.error('error: --from takes everything from the file');
        return issueFromFile(from, as, json);
      }
      const wanted = {
        plan: required(plan, '--plan <plan>', command),
        name: required(name, '--name <name>', command),
      };
      const issued = await changeKeys(as, (store) => store.issue({ ...wanted, expiresAt, minute, day }));
      printIssued(issued, json);
    });
}
