import { InvalidArgumentError, type Command } from 'commander';
import { knownIn, maxLimit, parseLimit } from '../limits/limits.ts';
import { byWindow, eachExactly, windowNames, windowOf, type ByWindow } from '../limits/windows.ts';
import type { LimitedChange } from '../operations/key-limits.ts';

/** The limit of the plan, or none. */
export type NoLimit = 'plan' | 'none';

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
  describe: (each: string, required: boolean) => string,
  parse: (text: string) => number | NoLimit,
): Command {
  for (const name of windowNames) {
    const description = describe(eachExactly(name), windowOf(name).required);
    command.option(`--${name} <n>`, description, parse);
  }
  return command;
}

/** The limits that were given; null for one that a word takes away. */
export function givenLimits(options: ByWindow<number>): ByWindow<number>;
export function givenLimits(options: ByWindow<number | NoLimit>): ByWindow<number | null>;
export function givenLimits(options: ByWindow<number | NoLimit>): ByWindow<number | null> {
  return byWindow((name) => (typeof options[name] === 'string' ? null : options[name]));
}

export function hasLimits(options: ByWindow<unknown>): boolean {
  return windowNames.some((name) => options[name] !== undefined);
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

/** @returns undefined if the limits are for good, null to end temporary ones, and a text for what cannot be meant */
export function temporaryLimits(
  until: Date | 'now' | undefined,
  limits: ByWindow<number | null>,
): LimitedChange['temporary'] | string {
  if (until === undefined) return undefined;
  if (until === 'now') return hasLimits(limits) ? '--until now ends temporary limits: give no others' : null;
  if (!hasLimits(limits)) return `--until needs the limits that end then: give ${limitOptionNames}`;
  if (Object.values(limits).includes(null)) return 'a limit that is the plan’s cannot end: give numbers';
  return { ...knownIn(limits), until };
}
