import type { Command } from 'commander';
import { nearestName } from '../operations/nearest-name.ts';

/**
 * For a command that does something itself and has subcommands, too: commander calls a mistyped subcommand one argument too
 * many. The command has to allow excess arguments.
 */
export function refuseUnknownSubcommand(command: Command): void {
  const [word] = command.args;
  if (word === undefined) return;
  const near = nearestName(
    word,
    command.commands.map((child) => child.name()),
  );
  const suggestion = near === undefined ? '' : ` (Did you mean ${near}?)`;
  command.error(`error: unknown command '${word}'${suggestion}`, { code: 'commander.unknownCommand' });
}
