import { z } from 'zod';
import { maxLimit } from '../../plans/limits.ts';

const range = `has to be a whole number from 1 to ${maxLimit}`;

/** A limit in a request body. */
export const limit = z
  .number({ error: range })
  .int({ error: range })
  .min(1, { error: range })
  .max(maxLimit, { error: range });
