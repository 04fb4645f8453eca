import { z } from 'zod';

const samples = { boolean: true, number: 1, list: [] };

/** What a field takes: the first of the samples that is not refused for its type, or else a text. */
export function fieldType(schema: z.ZodType): 'boolean' | 'number' | 'list' | 'text' {
  for (const type of ['boolean', 'number', 'list'] as const) {
    const { error } = schema.safeParse(samples[type]);
    if (error?.issues.some(({ code }) => code.startsWith('invalid_')) !== true) return type;
  }
  return 'text';
}

/** Whether a field can be left out. */
export const mayLack = (schema: z.ZodType) =>
  schema instanceof z.ZodExactOptional || schema.safeParse(undefined).success;
