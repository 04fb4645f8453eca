import { Command } from 'commander';
import { changeKeys, writeIssued } from './key-store.ts';
import { issueFromFile } from './keys-from-file.ts';
import {
  asOption,
  jsonOption,
  limitArgument,
  nameArgument,
  timeArgument,
  type ChangeOptions,
} from './options.ts';

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
    .description('make a key; it is shown this once and kept nowhere')
    .option('--plan <plan>', 'free, pro, business, enterprise or one of your own')
    .option('--name <name>', 'whose key it is', nameArgument)
    .option('--expires <time>', 'ISO 8601, UTC unless it says otherwise', timeArgument)
    .option('--minute <n>', 'own limit a minute, in place of the plan’s', limitArgument)
    .option('--day <n>', 'own limit a UTC day, in place of the plan’s', limitArgument)
    .option(
      '--from <file>',
      'make many: CSV with the columns name, plan and, if wanted, expires, minute, day',
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
      if (plan === undefined) return command.error("error: required option '--plan <plan>' not specified");
      if (name === undefined) return command.error("error: required option '--name <name>' not specified");
      const issued = await changeKeys(as, (store) => store.issue({ plan, name, expiresAt, minute, day }));
      writeIssued(issued, json);
    });
}
