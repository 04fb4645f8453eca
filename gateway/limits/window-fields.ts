import { z } from 'zod';
import { forAll, type WindowName } from './windows.ts';

/** Fields of an object that may have a value for each window. */
export function windowFields<Schema extends z.ZodType>(schemaOf: (name: WindowName) => Schema) {
  return forAll((name) => z.exactOptional(schemaOf(name)));
}
