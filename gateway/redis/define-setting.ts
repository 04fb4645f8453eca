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
  return { key, values, defaults, fields: fieldsOf(values) };
}

/** Parses the fields of a hash, which are text, as the given values. Ignores others than theirs. */
export function fieldsOf<Values extends z.ZodObject>(values: Values) {
  return z.preprocess((texts) => valuesIn(texts, values.shape), values);
}

function valuesIn(texts: unknown, shape: Readonly<Record<string, z.core.$ZodType>>): unknown {
  if (typeof texts !== 'object' || texts === null) return texts;
  return Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) => {
      const schema = shape[name];
      return schema === undefined ? [] : [[name, valueOf(String(text), schema)] as const];
    }),
  );
}

/** The value of a field from its text. A text that is no such value stays a text, which the schema of the field refuses. */
export function valueOf(text: string, schema: z.core.$ZodType): string | number | boolean {
  if (schema instanceof z.ZodOptional) return valueOf(text, schema.unwrap());
  if (schema instanceof z.ZodBoolean) return text === 'true' || text === 'false' ? text === 'true' : text;
  const isInteger = schema instanceof z.ZodNumber && schema.isInt;
  return (isInteger ? wholeNumberText : decimalText).test(text) ? Number(text) : text;
}

const wholeNumberText = /^(0|[1-9]\d{0,9})$/;
const decimalText = /^\d{1,4}(\.\d{1,3})?$/;

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
