import type { Command } from 'commander';
import type { ChangingSession } from '../operations/session.ts';
import { asOption, jsonOption, type ChangeOptions } from './options.ts';
import { printResult } from './output.ts';
import { withChanges } from './redis-session.ts';

type Change<Result> = (session: ChangingSession) => Promise<Result>;

/**
 * Ends a command that changes something: in whose name, and how what it returns is printed.
 * @param prepare gets the argument, if there is one; checks the options, or asks the person, before anything is changed; returns the change
 */
export function changing<Result extends object>(
  command: Command,
  prepare: (target: string) => Change<Result> | Promise<Change<Result>>,
  show: (result: Result, json: true | undefined) => unknown = printResult,
): Command {
  return command
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async () => {
      const { as, json } = command.opts<ChangeOptions>();
      const target: unknown = command.processedArgs[0];
      const change = await prepare(typeof target === 'string' ? target : '');
      await show(await withChanges(as, change), json);
    });
}
