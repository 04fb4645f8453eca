import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { databaseFault } from './database-fault.ts';
import { PetsError } from './errors.ts';
import { PrismaClient } from './generated/prisma/client.ts';
import type { NewPet, Pet } from './pet.ts';
import type { PetsQuery } from './pet-input.ts';

export interface PetStore {
  /** Pets by id ascending; `more` says whether there are further ones. */
  list(query: PetsQuery): Promise<{ pets: Pet[]; more: boolean }>;
  create(pet: NewPet): Promise<Pet>;
  find(id: bigint): Promise<Pet | undefined>;
  /** @throws PetsError service_unavailable where the database does not answer, as all of these do */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** The only file that knows Prisma. */
export function createPetStore(adapter: SqlMigrationAwareDriverAdapterFactory): PetStore {
  const prisma = new PrismaClient({ adapter });

  return {
    list: ({ limit, status, afterId }) =>
      reading(async () => {
        const pets = await prisma.pet.findMany({
          where: {
            ...(status === undefined ? {} : { status }),
            ...(afterId === undefined ? {} : { id: { gt: afterId } }),
          },
          orderBy: { id: 'asc' },
          // One more than asked for tells whether there is a next page.
          take: limit + 1,
        });
        return { pets: pets.slice(0, limit), more: pets.length > limit };
      }),
    create: (pet) => writing(() => prisma.pet.create({ data: pet })),
    find: (id) => reading(async () => (await prisma.pet.findUnique({ where: { id } })) ?? undefined),
    ping: () =>
      reading(async () => {
        await prisma.$queryRaw`SELECT 1`;
      }),
    close: () => prisma.$disconnect(),
  };
}

const retryShortly = { 'Retry-After': '1' };

/** Runs a query; a database that is away becomes service_unavailable. */
async function reading<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    if (databaseFault(error) === undefined) throw error;
    throw new PetsError('service_unavailable', { headers: retryShortly, cause: error });
  }
}

/** As `reading`, but nobody is invited to repeat a write that may have happened. */
async function writing<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    switch (databaseFault(error)) {
      case undefined:
        throw error;
      case 'refused':
        throw new PetsError('service_unavailable', { headers: retryShortly, cause: error });
      case 'lost':
        throw new PetsError('service_unavailable', {
          message: 'The database went away in the middle: the pet may have been stored or not.',
          cause: error,
        });
    }
  }
}
