import { Command, Option } from 'commander';
import type { ByWindow } from '../limits/windows.ts';
import type { KeyFields } from '../operations/key-input.ts';
import { changeKey } from '../operations/keys.ts';
import { rotateKey } from '../operations/rotate-key.ts';
import { changing } from './changing.ts';
import { printIssued, printKey } from './key-output.ts';
import { keysIssueCommand } from './keys-issue.ts';
import { keysListCommand } from './keys-list.ts';
import { keysRevokeCommand } from './keys-revoke.ts';
import { keysShowCommand } from './keys-show.ts';
import { keysExportCommand, keysImportCommand } from './keys-transfer.ts';
import { addLimitOptions, givenLimits, limitOr, type NoLimit } from './limit-options.ts';
import {
  durationArgument,
  idArgument,
  nameArgument,
  scopesOption,
  timeOrNeverArgument,
  type ChangeOptions,
} from './options.ts';

export function keysCommand(): Command {
  return new Command('keys')
    .description('API keys of clients')
    .addCommand(keysIssueCommand())
    .addCommand(keysListCommand())
    .addCommand(keysShowCommand())
    .addCommand(setCommand())
    .addCommand(rotateCommand())
    .addCommand(keysRevokeCommand())
    .addCommand(keysExportCommand())
    .addCommand(keysImportCommand());
}

interface SetOptions extends ChangeOptions, ByWindow<number | NoLimit> {
  plan?: string;
  name?: string;
  expires?: Date | 'never';
  scopes?: readonly string[] | 'all';
}

function setCommand(): Command {
  const command: Command = new Command('set')
    .description('change a key, from its next request on')
    .argument('<id>', '', idArgument)
    .option('--plan <plan>', 'another plan')
    .option('--name <name>', 'name of the key', nameArgument)
    .option(
      '--expires <time>',
      'time of expiry, ISO 8601, or a duration such as 90d, or "never"',
      timeOrNeverArgument,
    )
    .addOption(scopesOption());
  addLimitOptions(command, (each) => `own limit ${each}, or "plan" for that of the plan`, limitOr('plan'));
  return changing(
    command,
    (id) => {
      const { as: _as, json: _json, ...options } = command.opts<SetOptions>();
      if (Object.keys(options).length === 0) command.error('error: nothing to set: see ops keys set --help');
      const { plan, name, expires, scopes } = options;
      const fields = {
        expiresAt: expires === 'never' ? null : expires,
        scopes: scopes === 'all' ? null : scopes,
      } satisfies Required<KeyFields>;
      const change = {
        plan,
        name,
        ...fields,
        ...givenLimits(options),
      };
      return (session) => changeKey(session, id, change);
    },
    (record, json) => printKey(record, json),
  );
}

function rotateCommand(): Command {
  const command = new Command('rotate')
    .description('issue a key that replaces another one, which works until the grace period ends')
    .argument('<id>', 'id of the key to replace', idArgument)
    .addOption(
      new Option('--grace <duration>', 'time that the old key still works; 0s ends it now')
        .argParser(durationArgument({ min: 0 }))
        .default(86_400_000, '24h'),
    );
  return changing(
    command,
    (id) => (session) => rotateKey(session, id, command.opts<{ grace: number }>().grace),
    printIssued,
  );
}
