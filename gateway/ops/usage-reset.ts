import { Command } from 'commander';
import { resetDay } from '../operations/reset-day.ts';
import { asOption, idArgument, jsonOption, type ChangeOptions } from './options.ts';
import { printResult } from './output.ts';
import { withChanges } from './redis-session.ts';

export function usageResetCommand(): Command {
  return new Command('reset')
    .description(
      'give a key its UTC day back: the day limit counts from 0 again, the record of use keeps all',
    )
    .argument('<id>', '', idArgument)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, { as, json }: ChangeOptions) => {
      printResult({ id, setBack: await withChanges(as, (session) => resetDay(session, id)) }, json);
    });
}
