import { z } from 'zod';
import {
  byOptionalWindow,
  byRequiredWindow,
  fieldOf,
  windowNames,
  windows,
  type OptionalWindow,
  type RequiredWindow,
  type WindowName,
} from './windows.ts';

/** Fields of an object with a value for each window. It may lack those of windows that are not required. */
export function windowFields<Schema extends z.ZodType>(schemaOf: (name: WindowName) => Schema) {
  return { ...byRequiredWindow(schemaOf), ...byOptionalWindow((name) => z.exactOptional(schemaOf(name))) };
}

type CountFields<Prefix extends string> = Record<`${Prefix}${Capitalize<RequiredWindow>}`, z.ZodInt> &
  Record<`${Prefix}${Capitalize<OptionalWindow>}`, z.ZodExactOptional<z.ZodInt>>;

/** The same with counts, in fields such as `overMinute`. */
export function countFields<Prefix extends string>(prefix: Prefix, description: string) {
  const count = z.int().describe(description);
  const fields: Partial<Record<string, z.ZodType>> = Object.fromEntries(
    windows.map(({ name, required }) => [fieldOf(prefix, name), required ? count : z.exactOptional(count)]),
  );
  if (!hasAll(fields, prefix)) throw new TypeError('a window has no count');
  return fields;
}

function hasAll<Prefix extends string>(
  fields: Partial<Record<string, z.ZodType>>,
  prefix: Prefix,
): fields is CountFields<Prefix> {
  return windowNames.every((name) => fields[fieldOf(prefix, name)] !== undefined);
}
