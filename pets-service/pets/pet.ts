import { int64Json } from './int64.ts';

/** Specification section 2.1. */
export const petStatuses = ['available', 'pending', 'sold'] as const;

export type PetStatus = (typeof petStatuses)[number];

/** Specification section 2.2, with a default for the status. */
export interface NewPet {
  name: string;
  categoryId: bigint;
  status: PetStatus;
}

/** Specification section 2.3. */
export interface Pet extends NewPet {
  id: bigint;
}

/** The pet for JSON.stringify, with exact integers. */
export function petJson({ id, name, categoryId, status }: Pet) {
  return { id: int64Json(id), name, categoryId: int64Json(categoryId), status };
}
