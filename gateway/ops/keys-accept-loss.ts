import { Command } from 'commander';
import { acceptLoss } from '../operations/accept-loss.ts';
import { confirm, yesOption } from './confirm.ts';
import { asOption, jsonOption, type ChangeOptions } from './options.ts';
import { printResult } from './output.ts';
import { withChanges } from './redis-session.ts';

export function keysAcceptLossCommand(): Command {
  return new Command('accept-loss')
    .description(
      'refuse keys that Redis has lost as unknown: gateways that served them answer 503 until then',
    )
    .addOption(yesOption())
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async ({ yes, as, json }: ChangeOptions & { yes?: true }) => {
      await confirm('Are all keys that Redis has lost meant to be gone? Their clients get 401.', yes);
      printResult(await withChanges(as, acceptLoss), json);
    });
}
