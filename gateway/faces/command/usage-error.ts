import { nearestName } from '#runtime/nearest-name.ts';
import type { Command, CommanderError } from 'commander';

/** What is wrong with the arguments, on one line, with what was probably meant. Commander suggests only some of it. */
export function describeUsageError({ code, message }: CommanderError): string {
  const text = message.replace(/^error: /, '');
  const isSuggested = text.includes('(Did you mean');
  if (code === 'commander.unknownCommand' && !isSuggested) return `${text}; see: ops --help`;
  if (code === 'commander.unknownOption' && !isSuggested) {
    const isLong = /^unknown option '-[a-z]{2}/i.test(text);
    return `${text}; ${isLong ? 'options begin with two dashes' : 'see --help'}`;
  }
  return text;
}

/** Ends a command with the name of the command below it that was probably meant. */
export function unknownCommand(command: Command, name: string): never {
  const names = command
    .createHelp()
    .visibleCommands(command)
    .map((child) => child.name());
  const near = nearestName(name, names);
  const hint = near === undefined ? `; see: ${pathOf(command)} --help` : ` (Did you mean ${near}?)`;
  return command.error(`error: unknown command '${name}'${hint}`);
}

/** A command with those above it, as it is typed. */
function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

/**
 * Requires an option in the action of a command. Commander's own check comes before that for unknown options, so that a
 * mistyped option would be reported as missing and not as mistyped.
 */
export function required<T>(value: T | undefined, flags: string, command: Command): T {
  if (value === undefined) return command.error(`error: required option '${flags}' not specified`);
  return value;
}
