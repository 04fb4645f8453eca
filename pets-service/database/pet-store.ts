import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { PetsError } from '../errors.ts';
import { PrismaClient } from '../generated/prisma/client.ts';
import type { PetsQuery } from '../pets/pet-input.ts';
import type { NewPet, Pet } from '../pets/pet.ts';
import { databaseFault, SchemaFault } from './database-error.ts';
import { createKeyedCreate, type KeyedCreate } from './idempotent-create.ts';
import { createSharedQueries } from './shared-queries.ts';

export interface PetStore extends KeyedCreate {
  /** Pets by id ascending; `more` says whether there are further ones. */
  list(query: PetsQuery): Promise<{ pets: Pet[]; more: boolean }>;
  create(pet: NewPet): Promise<Pet>;
  find(id: bigint): Promise<Pet | undefined>;
  /** @throws PetsError service_unavailable where the database does not answer, as all before this do */
  ping(): Promise<void>;
  /** @throws what isSchemaFault tells, where a table, a column or a privilege is missing; else what Prisma throws */
  assertSchema(): Promise<void>;
  close(): Promise<void>;
}

/** Nothing outside this folder knows Prisma. */
export function createPetStore(adapter: SqlMigrationAwareDriverAdapterFactory): PetStore {
  // Of other formats Prisma takes down the stack at each call, to show the code there in the message of an error.
  const prisma = new PrismaClient({ adapter, errorFormat: 'minimal' });
  const keyed = createKeyedCreate(prisma);
  const queries = createSharedQueries(prisma);

  return {
    list: (query) =>
      reading(async () => {
        const pets = await queries.findPage(query);
        return { pets: pets.slice(0, query.limit), more: pets.length > query.limit };
      }),
    create: (pet) => writing(() => queries.create(pet), outcomeUnknown),
    createOnce: (pet, key) => writing(() => keyed.createOnce(pet, key), repeatable),
    forgetOldKeys: (limit) => reading(() => keyed.forgetOldKeys(limit)),
    find: (id) => reading(async () => (await queries.find(id)) ?? undefined),
    ping: () =>
      reading(async () => {
        await prisma.$queryRaw`SELECT 1`;
      }),
    async assertSchema() {
      // Of models, all columns are read. No row is looked at that could be there.
      await prisma.pet.findFirst({ where: { id: 0n } });
      await prisma.idempotencyKey.findFirst({ where: { issuer: '' } });
      await assertPrivileges(prisma);
    },
    close: () => prisma.$disconnect(),
  };
}

/** What the statements of this service do. Names are found as by them, and by the models in `public` alone. */
async function assertPrivileges(prisma: PrismaClient): Promise<void> {
  const lacking = await prisma.$queryRaw<{ lacking: string }[]>`
    SELECT privilege || ' on ' || relation AS lacking
    FROM (VALUES
      ('pets', 'SELECT'), ('pets', 'INSERT'),
      ('idempotency_keys', 'SELECT'), ('idempotency_keys', 'INSERT'),
      ('idempotency_keys', 'UPDATE'), ('idempotency_keys', 'DELETE')
    ) AS needed (relation, privilege)
    WHERE NOT has_table_privilege(relation, privilege)
    UNION ALL
    SELECT 'USAGE on pets_id_seq' WHERE NOT has_sequence_privilege('pets_id_seq', 'USAGE')`;
  if (lacking.length === 0) return;
  throw new SchemaFault(`the role lacks ${lacking.map((row) => row.lacking).join(', ')}`);
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

/** What is said of a write that may have happened or not: nobody is invited to repeat it. */
const outcomeUnknown = {
  message: 'The database went away in the middle: the pet may have been stored or not.',
};

/** The same of a write with a key, which can be repeated without harm. */
const repeatable = {
  message: 'The database went away in the middle. Repeat the request with the same Idempotency-Key.',
  headers: retryShortly,
};

/** As `reading`, but a database that went away in the middle is told apart, by what `lost` says. */
async function writing<T>(
  query: () => Promise<T>,
  lost: { message: string; headers?: Record<string, string> },
): Promise<T> {
  try {
    return await query();
  } catch (error) {
    switch (databaseFault(error)) {
      case undefined:
        throw error;
      case 'refused':
        throw new PetsError('service_unavailable', { headers: retryShortly, cause: error });
      case 'lost':
        throw new PetsError('service_unavailable', { ...lost, cause: error });
    }
  }
}
