import { z } from 'zod';
import { byOptionalWindow, byRequiredWindow, type WindowName } from './windows.ts';

/** Fields of an object with a value for each window. It may lack those of windows that are not required. */
export function windowFields<Schema extends z.ZodType>(schemaOf: (name: WindowName) => Schema) {
  return { ...byRequiredWindow(schemaOf), ...byOptionalWindow((name) => z.exactOptional(schemaOf(name))) };
}
