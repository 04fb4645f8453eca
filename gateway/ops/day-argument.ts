import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { dayNumberOf } from '../limits/utc-day.ts';

/** A UTC date, `today` or `yesterday`, as the number of days since the Unix epoch. */
export function dayArgument(text: string): number {
  if (text === 'today') return dayNumberOf(Date.now());
  if (text === 'yesterday') return dayNumberOf(Date.now()) - 1;
  if (!z.iso.date().safeParse(text).success) {
    throw new InvalidArgumentError('It is neither a date such as 2026-11-22 nor today or yesterday.');
  }
  return dayNumberOf(Date.parse(text));
}
