import { InvalidArgumentError, type Command } from 'commander';
import { maxLimit, parseLimit } from '../limits/limits.ts';
import { byWindow, eachExactly, windowNames, windowOf, type ByWindow } from '../limits/windows.ts';

/** As in "--minute, --hour, --day or --month". */
export const limitOptionNames = `${windowNames
  .slice(0, -1)
  .map((name) => `--${name}`)
  .join(', ')} or --${windowNames.at(-1)}`;

/**
 * Adds an option for the limit of each window.
 * @param describe gets words such as "a minute"
 */
export function addLimitOptions(
  command: Command,
  describe: (each: string) => string,
  parse: (text: string) => number | null,
): Command {
  for (const name of windowNames) command.option(`--${name} <n>`, describe(eachExactly(name)), parse);
  return command;
}

/** The limits that were given. */
export function givenLimits<Value>(options: ByWindow<Value>): ByWindow<Value> {
  return byWindow((name) => options[name]);
}

export function hasLimits(options: ByWindow<unknown>): boolean {
  return windowNames.some((name) => options[name] !== undefined);
}

export function limitArgument(text: string): number {
  const limit = parseLimit(text);
  if (limit === undefined) throw new InvalidArgumentError(`It must be a whole number from 1 to ${maxLimit}.`);
  return limit;
}

/** A limit, or a word that stands for no limit of its own: null. */
export function limitOr(word: 'plan' | 'none'): (text: string) => number | null {
  return (text) => (text === word ? null : limitArgument(text));
}

/** Words for the windows that a plan need not have. */
export const optionalWindows = windowNames.filter((name) => !windowOf(name).required).join(' or ');
