import { z } from 'zod';

/** Requests allowed in one minute window and in one UTC day. */
export interface Limits {
  minute: number;
  day: number;
}

/** Largest valid limit. Far above any real plan, and exact in Lua and in JavaScript. */
export const maxLimit = 1_000_000_000;

/** A limit as text, from Redis or the command line: a whole number from 1 to {@link maxLimit}. */
export const limitText = z
  .string({ error: 'is missing' })
  .refine((text) => /^[1-9]\d{0,9}$/.test(text) && Number(text) <= maxLimit, {
    error: `is not a whole number from 1 to ${maxLimit}`,
  })
  .transform(Number);

/** @returns undefined if the text is not a valid limit */
export function parseLimit(text: string | null | undefined): number | undefined {
  return limitText.safeParse(text).data;
}
