import type { Argument, Command, Option } from 'commander';
import { valueKind, type ValueKind } from './value-kinds.ts';

export interface Candidate {
  value: string;
  description: string;
}

/** What can be at the end of an unfinished command. Both may be there: `usage` takes an id and has subcommands. */
export interface Completion {
  candidates: Candidate[];
  /** Values that only Redis or the disk knows. */
  kind: ValueKind | undefined;
  /** What the values have to begin with. */
  prefix: string;
}

/**
 * Completes an unfinished command from the commands themselves, so that every command, option and choice is completed
 * without further work.
 * @param words after the name of the program; the last one is unfinished, and may be empty
 */
export function completeWords(program: Command, words: readonly string[]): Completion {
  const { finished, last } = splitWords(words);
  let command = program;
  let position = 0;
  let onlyArguments = false;
  const given = new Set<Option>();
  for (let index = 0; index < finished.length; index += 1) {
    const word = finished[index] ?? '';
    const option = onlyArguments ? undefined : findOption(command, word);
    const child = position === 0 ? findCommand(command, word) : undefined;
    if (word === '--') onlyArguments = true;
    else if (option !== undefined) {
      given.add(option);
      // The word after it is its value, unless that is the unfinished one.
      if (option.required && index === finished.length - 1) return completeValue(command, option, last);
      if (option.required) index += 1;
    } else if (child !== undefined) {
      // The words after `help` are those of commands.
      if (child.name() !== 'help') command = child;
    } else if (!word.startsWith('-') || onlyArguments) position += 1;
  }
  if (last.startsWith('-') && !onlyArguments) return completeOptions(command, given, last);
  return completeOperand(command, position, last);
}

/** Bash makes words of their own of `=` in `--plan=free`, other shells do not. */
function splitWords(words: readonly string[]): { finished: string[]; last: string } {
  const split = words.flatMap((word, index) => {
    if (word === '=') return index === words.length - 1 ? [''] : [];
    const [, flag, value] = /^(--[a-z-]+)=(.*)$/s.exec(word) ?? [];
    return flag === undefined ? [word] : [flag, value ?? ''];
  });
  return { finished: split.slice(0, -1), last: split.at(-1) ?? '' };
}

function completeOptions(command: Command, given: ReadonlySet<Option>, prefix: string): Completion {
  const options = command.createHelp().visibleOptions(command);
  const candidates = options
    .filter((option) => !given.has(option))
    .map(({ long, short, description }) => ({ value: long ?? short ?? '', description }));
  return { candidates: startingWith(prefix, candidates), kind: undefined, prefix };
}

function completeOperand(command: Command, position: number, prefix: string): Completion {
  const subcommands = position === 0 ? command.createHelp().visibleCommands(command) : [];
  const candidates = subcommands.map((child) => ({ value: child.name(), description: child.description() }));
  const registered = command.registeredArguments;
  const last = registered.at(-1);
  const argument = registered[position] ?? (last?.variadic ? last : undefined);
  const values = argument === undefined ? undefined : completeValue(command, argument, prefix);
  return {
    candidates: startingWith(prefix, [...candidates, ...(values?.candidates ?? [])]),
    kind: values?.kind,
    prefix,
  };
}

function completeValue(command: Command, owner: Argument | Option, prefix: string): Completion {
  const choices = (owner.argChoices ?? []).map((value) => ({ value, description: '' }));
  const usage = 'flags' in owner ? owner.flags : `<${owner.name()}>`;
  return { candidates: startingWith(prefix, choices), kind: valueKind(command, usage), prefix };
}

function startingWith(prefix: string, candidates: readonly Candidate[]): Candidate[] {
  return candidates.filter(({ value }) => value.startsWith(prefix));
}

function findCommand(command: Command, word: string): Command | undefined {
  return command.commands.find((child) => child.name() === word || child.aliases().includes(word));
}

function findOption(command: Command, word: string): Option | undefined {
  return command.options.find(({ long, short }) => word === long || word === short);
}
