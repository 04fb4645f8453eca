import type { PetStore } from './database/pet-store.ts';
import type { NewPet } from './pets/pet.ts';

const demoPets: NewPet[] = [
  { name: 'Rex', categoryId: 1n, status: 'available' },
  { name: 'Mia', categoryId: 2n, status: 'available' },
  { name: 'Bubbles', categoryId: 3n, status: 'pending' },
  { name: 'Hector', categoryId: 4n, status: 'sold' },
  { name: 'Żółw', categoryId: 5n, status: 'available' },
];

/** Adds a few pets to an empty database. @returns the number of added pets */
export async function addDemoPets(store: PetStore): Promise<number> {
  const { pets } = await store.list({ limit: 1, status: undefined, afterId: undefined });
  if (pets.length > 0) return 0;
  for (const pet of demoPets) await store.create(pet);
  return demoPets.length;
}
