import { InvalidArgumentError, type Command } from 'commander';
import { maxLimit, parseLimit } from '../limits/limits.ts';
import { byWindow, eachExactly, windowNames, type ByWindow } from '../limits/windows.ts';

/** The limit of the plan, or none. */
export type NoLimit = 'plan' | 'none';

/**
 * Adds an option for the limit of each window.
 * @param describe gets words such as "a minute"
 */
export function addLimitOptions(
  command: Command,
  describe: (each: string) => string,
  parse: (text: string) => number | NoLimit,
): Command {
  for (const name of windowNames) {
    command.option(`--${name} <n>`, describe(eachExactly(name)), parse);
  }
  return command;
}

/** The limits that were given; null for one that a word takes away. */
export function givenLimits(options: ByWindow<number>): ByWindow<number>;
export function givenLimits(options: ByWindow<number | NoLimit>): ByWindow<number | null>;
export function givenLimits(options: ByWindow<number | NoLimit>): ByWindow<number | null> {
  return byWindow((name) => (typeof options[name] === 'string' ? null : options[name]));
}

export function limitArgument(text: string): number {
  const limit = parseLimit(text);
  if (limit === undefined) throw new InvalidArgumentError(`It must be a whole number from 1 to ${maxLimit}.`);
  return limit;
}

/** A limit, or a word that stands for no limit of its own. Not null, which the parser of options takes for an empty text. */
export function limitOr<Word extends NoLimit>(word: Word): (text: string) => number | Word {
  return (text) => (text === word ? word : limitArgument(text));
}
