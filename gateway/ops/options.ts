import { InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { maxLimit, parseLimit } from '../quota/limits.ts';

/** `--json`, which every command has. */
export function jsonOption(): Option {
  return new Option('--json', 'print JSON on one line');
}

export function limitArgument(text: string): number {
  const limit = parseLimit(text);
  if (limit === undefined) throw new InvalidArgumentError(`It is not a whole number from 1 to ${maxLimit}.`);
  return limit;
}

/** A limit, or the word `plan` to go back to the plan's. */
export function limitOrPlanArgument(text: string): number | 'plan' {
  return text === 'plan' ? text : limitArgument(text);
}

const isoTime = z.union([z.iso.date(), z.iso.datetime({ offset: true, local: true })]);

/** A date alone means its beginning in UTC, and so does a time without offset. */
export function timeArgument(text: string): Date {
  if (!isoTime.safeParse(text).success) {
    throw new InvalidArgumentError('It is not an ISO 8601 time such as 2027-01-31T12:00:00Z.');
  }
  const hasOffset = /Z$|[+-]\d\d:\d\d$/.test(text) || !text.includes('T');
  return new Date(hasOffset ? text : `${text}Z`);
}

export function nameArgument(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > 100 || /\p{Cc}/u.test(name)) {
    throw new InvalidArgumentError('It has to be 1 to 100 characters, without control characters.');
  }
  return name;
}

const maxTtlSeconds = 365 * 86_400;

export function secondsArgument(text: string): number {
  const seconds = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  if (seconds < 1 || seconds > maxTtlSeconds) {
    throw new InvalidArgumentError(`It is not a whole number of seconds from 1 to ${maxTtlSeconds}.`);
  }
  return seconds;
}
