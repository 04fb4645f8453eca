import type { Command } from 'commander';
import type { ChangingSession } from '../operations/session.ts';
import { asOption, jsonOption, type ChangeOptions } from './options.ts';
import { printResult } from './output.ts';
import { withChanges } from './redis-session.ts';

/**
 * Ends a command that changes something: in whose name, and how what it returns is printed.
 * @param prepare gets the argument, if there is one; checks the options before Redis is asked anything; returns the change
 */
export function changing<Result extends object>(
  command: Command,
  prepare: (target: string) => (session: ChangingSession) => Promise<Result>,
  show: (result: Result, json: true | undefined) => void = printResult,
): Command {
  return command
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async () => {
      const { as, json } = command.opts<ChangeOptions>();
      const target: unknown = command.processedArgs[0];
      show(await withChanges(as, prepare(typeof target === 'string' ? target : '')), json);
    });
}
