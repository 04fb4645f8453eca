import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { PetsError } from '../errors.ts';
import { PrismaClient } from '../generated/prisma/client.ts';
import type { PetsQuery } from '../pets/pet-input.ts';
import type { NewPet, Pet } from '../pets/pet.ts';
import { SchemaError, unavailabilityOf } from './database-error.ts';
import { createIdempotentCreate, type IdempotentCreate } from './idempotent-create.ts';
import { createSharedQueries } from './shared-queries.ts';

export interface PetStore extends IdempotentCreate {
  /** Pets by id ascending; `more` says whether there are further ones. */
  list(query: PetsQuery): Promise<{ pets: Pet[]; more: boolean }>;
  create(pet: NewPet): Promise<Pet>;
  find(id: bigint): Promise<Pet | undefined>;
  /** @throws PetsError service_unavailable if the database is unavailable, as all methods above do */
  ping(): Promise<void>;
  /** @throws an error for which isSchemaError is true if a table, a column or a privilege is missing; Prisma's otherwise */
  assertSchema(): Promise<void>;
  close(): Promise<void>;
}

/** Nothing outside this folder imports Prisma. */
export function createPetStore(adapter: SqlMigrationAwareDriverAdapterFactory): PetStore {
  // With other formats Prisma captures the stack at each call, to show code in its error messages.
  const prisma = new PrismaClient({ adapter, errorFormat: 'minimal' });
  const idempotent = createIdempotentCreate(prisma);
  const queries = createSharedQueries(prisma);

  return {
    list: (query) =>
      reading(async () => {
        const pets = await queries.findPage(query);
        return { pets: pets.slice(0, query.limit), more: pets.length > query.limit };
      }),
    create: (pet) => writing(() => queries.create(pet), outcomeUnknown),
    createOnce: (pet, key) => writing(() => idempotent.createOnce(pet, key), repeatable),
    deleteExpiredKeys: (limit) => reading(() => idempotent.deleteExpiredKeys(limit)),
    find: (id) => reading(async () => (await queries.find(id)) ?? undefined),
    ping: () =>
      reading(async () => {
        await prisma.$queryRaw`SELECT 1`;
      }),
    async assertSchema() {
      // Model calls select all columns. No row can match.
      await prisma.pet.findFirst({ where: { id: 0n } });
      await prisma.idempotencyKey.findFirst({ where: { issuer: '' } });
      await assertPrivileges(prisma);
    },
    close: () => prisma.$disconnect(),
  };
}

/** Checks what the statements of this service need. Names resolve as in them, and in models, which use `public`. */
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
  throw new SchemaError(`the role lacks ${lacking.map((row) => row.lacking).join(', ')}`);
}

const retryAfter = { 'Retry-After': '1' };

/** Runs a query. An unavailable database becomes service_unavailable. */
async function reading<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    if (unavailabilityOf(error) === undefined) throw error;
    throw new PetsError('service_unavailable', { headers: retryAfter, cause: error });
  }
}

/** For a write that may have happened or not. Without Retry-After, which would invite a second one. */
const outcomeUnknown = {
  message: 'The connection to the database was lost: the pet may or may not have been stored.',
};

/** The same for a write with an idempotency key, which can be repeated without harm. */
const repeatable = {
  message: 'The connection to the database was lost. Repeat the request with the same Idempotency-Key.',
  headers: retryAfter,
};

/** As `reading`, with another error if the connection was lost during the write. */
async function writing<T>(
  query: () => Promise<T>,
  lost: { message: string; headers?: Record<string, string> },
): Promise<T> {
  try {
    return await query();
  } catch (error) {
    switch (unavailabilityOf(error)) {
      case undefined:
        throw error;
      case 'refused':
        throw new PetsError('service_unavailable', { headers: retryAfter, cause: error });
      case 'lost':
        throw new PetsError('service_unavailable', { ...lost, cause: error });
    }
  }
}
