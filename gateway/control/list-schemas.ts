import { z } from 'zod';

/** A whole number in a range. @param unit such as " of seconds" */
export function wholeNumber(min: number, max: number, unit = '') {
  const error = `has to be a whole number${unit} from ${min} to ${max}`;
  return z.int(error).min(min, error).max(max, error);
}

/** A whole number in a query. */
export function countInput(max: number, usual: number) {
  const number = wholeNumber(1, max).meta({ default: usual });
  return z
    .preprocess((text) => (/^[1-9]\d{0,2}$/.test(String(text)) ? Number(text) : text), number)
    .default(usual);
}

/** True or false in a query. */
export const flagInput = z.preprocess(
  (text) => (text === 'true' || text === 'false' ? text === 'true' : text),
  z.boolean('has to be true or false'),
);

/** What people look for. */
export const searchInput = z
  .string()
  .trim()
  .min(1, 'is empty')
  .max(200, 'is longer than 200 characters')
  .optional();

/** @returns a function that tells whether a text contains the part, in upper or lower case; an empty one is in every text */
export function textMatcher(part: string): (text: string) => boolean {
  const wanted = part.trim().toLowerCase();
  return (text) => text.toLowerCase().includes(wanted);
}

export const nextInput = z.string().describe('`next` of the page before');

/** A list that has all of its items. */
export const listOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), next: z.null() });

/** One page of a list. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), next: z.string().nullable().describe('Null at the end') });
