import { z } from 'zod';

/** Parses a field of a settings hash that is a whole number within a range. */
export function wholeNumberField(max: number, min = 1) {
  return z
    .string({ error: 'is missing' })
    .refine((text) => /^(0|[1-9]\d{0,8})$/.test(text) && Number(text) >= min && Number(text) <= max, {
      error: `is not a whole number from ${min} to ${max}`,
      abort: true,
    })
    .transform(Number);
}
