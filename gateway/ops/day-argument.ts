import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { dayNumberOf } from '../quota/utc-day.ts';

/** A UTC date, as the number of days since the Unix epoch. */
export function dayArgument(text: string): number {
  if (!z.iso.date().safeParse(text).success) {
    throw new InvalidArgumentError('It is not a date such as 2026-11-22.');
  }
  return dayNumberOf(Date.parse(text));
}
