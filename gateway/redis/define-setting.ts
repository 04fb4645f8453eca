import { z } from 'zod';

/** A setting of all gateways: a hash in Redis whose values operators change at any time. */
export interface Setting<Value extends object> {
  /** Redis key of the hash. */
  key: string;
  defaults: Readonly<Value>;
  /** Parses the fields of the hash, which are text. Ignores others than those of the setting. */
  fields: z.ZodType<Value>;
}

/**
 * Defines a setting by what parses its values, as they are in a file of plans and in the operators' API. Each field has a
 * description, for editors and for `--help`. A message continues the name of its field.
 */
export function defineSetting<Values extends z.ZodObject>({
  key,
  values,
  defaults,
}: {
  key: string;
  values: Values;
  defaults: z.output<Values>;
}): Setting<z.output<Values>> & { values: Values } {
  const names = Object.keys(values.shape);
  const fields = z.preprocess((texts) => valuesIn(texts, names), values);
  return { key, values, defaults, fields };
}

function valuesIn(texts: unknown, names: readonly string[]): unknown {
  if (typeof texts !== 'object' || texts === null) return texts;
  const known = Object.entries(texts).filter(([name]) => names.includes(name));
  return Object.fromEntries(known.map(([name, text]) => [name, valueOf(String(text))]));
}

/** A value from its text. What is no value stays a text, which the schema of its field refuses. */
export function valueOf(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^(0|[1-9]\d{0,14})$|^\d{1,4}\.\d{1,3}$/.test(text) ? Number(text) : text;
}

export const missingOr =
  (problem: string) =>
  ({ input }: { input?: unknown }) =>
    input === undefined ? 'is missing' : problem;

export function wholeNumber({ min, max }: { min: number; max: number }, description: string) {
  const error = missingOr(`is not a whole number from ${min} to ${max}`);
  return z.int({ error }).min(min, { error }).max(max, { error }).meta({ description });
}

export function trueOrFalse(description: string) {
  return z.boolean({ error: missingOr('is neither true nor false') }).meta({ description });
}

/** Options of an object of fields. */
export const mapping = (shape: string) => ({ error: missingOr(`is not a mapping of ${shape}`) });
