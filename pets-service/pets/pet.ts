import { z } from 'zod';
import { int64Json } from './int64.ts';

/** Specification section 2.1. */
export const petStatuses = ['available', 'pending', 'sold'] as const;

export const petStatus = z.enum(petStatuses, { error: `must be one of ${petStatuses.join(', ')}` });

/** Specification section 2.2. Unknown fields are removed, also a client's `id`. */
export const newPet = z.object(
  {
    name: z
      .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a string') })
      .trim()
      .refine((name) => name !== '', 'must not be empty')
      .regex(/^.{0,255}$/su, 'must have at most 255 characters')
      .regex(/^\P{Cc}*$/u, 'must not contain control characters')
      .refine((name) => name.isWellFormed(), 'must be valid Unicode'),
    categoryId: z.bigint({
      error: ({ input }) => (input === undefined ? 'is required' : 'must be a 64-bit integer'),
    }),
    status: petStatus.default('available'),
  },
  { error: 'must be a JSON object' },
);

export type NewPet = z.infer<typeof newPet>;

/** Specification section 2.3. */
export interface Pet extends NewPet {
  id: bigint;
}

/** The pet for JSON.stringify, with exact integers. */
export function petJson({ id, name, categoryId, status }: Pet) {
  return { id: int64Json(id), name, categoryId: int64Json(categoryId), status };
}
