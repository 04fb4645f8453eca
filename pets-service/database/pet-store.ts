import { PetsError } from '../errors.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';
import type { PetsQuery } from '../pets/pet-input.ts';
import type { NewPet, Pet } from '../pets/pet.ts';
import { openConnections, type DatabasePools, type PoolState } from './connections.ts';
import { DatabaseTimeout, SchemaError, unavailabilityOf } from './database-error.ts';
import { createIdempotentCreate, type IdempotentCreate } from './idempotent-create.ts';
import { createSharedQueries } from './shared-queries.ts';
import { createStatementSpans, type StatementSpans } from './statement-spans.ts';

export interface PetStore extends IdempotentCreate {
  /** Pets by id ascending; `more` says whether there are further ones. */
  list(query: PetsQuery): Promise<{ pets: Pet[]; more: boolean }>;
  create(pet: NewPet): Promise<Pet>;
  find(id: bigint): Promise<Pet | undefined>;
  /** @throws PetsError service_unavailable if the database is unavailable, as all methods above do */
  ping(): Promise<void>;
  /** @throws an error for which isSchemaError is true if a table, a column or a privilege is missing; Prisma's otherwise */
  assertSchema(): Promise<void>;
  /** Name of a migration that failed or is under way; undefined if no such migration is known. Never rejects. */
  unfinishedMigration(): Promise<string | undefined>;
  pools(): PoolState[];
  close(): Promise<void>;
}

/**
 * Nothing outside this folder imports Prisma.
 * @param onStatement called with the name of the pool and the duration of each statement
 */
export function createPetStore(
  pools: DatabasePools,
  onStatement: (pool: string, seconds: number) => void = () => {},
  spans: StatementSpans = createStatementSpans(),
): PetStore {
  const open = (name: 'reads' | 'writes') =>
    openConnections(pools[name], (seconds) => onStatement(name, seconds));
  const reads = open('reads');
  const writes = pools.writes === pools.reads ? reads : open('writes');
  const idempotent = createIdempotentCreate(writes, spans);
  const queries = createSharedQueries(reads, writes, spans);

  return {
    list: (query) =>
      reading(async () => {
        const pets = await spans.step('list pets', () => queries.findPage(query));
        return { pets: pets.slice(0, query.limit), more: pets.length > query.limit };
      }),
    create: (pet) => writing(() => spans.step('create pet', () => queries.create(pet)), outcomeUnknown),
    createOnce: (pet, key) =>
      writing(() => spans.step('create pet once', () => idempotent.createOnce(pet, key)), repeatable),
    deleteExpiredKeys: (limit) => reading(() => idempotent.deleteExpiredKeys(limit)),
    find: (id) => reading(async () => (await spans.step('find pet', () => queries.find(id))) ?? undefined),
    ping: () =>
      reading(async () => {
        await reads.slots.run(() => reads.prisma.$queryRaw`SELECT 1`);
      }),
    assertSchema: () => reads.slots.run(() => assertSchema(reads.prisma)),
    unfinishedMigration: () =>
      // The table may not exist, and the role may not be allowed to read it.
      reads.slots.run(() => findUnfinishedMigration(reads.prisma)).catch(() => undefined),
    pools() {
      const state = [{ name: 'reads', ...reads.slots.state }];
      return writes === reads ? state : [...state, { name: 'writes', ...writes.slots.state }];
    },
    async close() {
      await Promise.all(Array.from(new Set([reads, writes]), ({ prisma }) => prisma.$disconnect()));
    },
  };
}

async function assertSchema(prisma: PrismaClient): Promise<void> {
  // Model calls select all columns. No row can match.
  await prisma.pet.findFirst({ where: { id: 0n } });
  await prisma.idempotencyKey.findFirst({ where: { issuer: '' } });
  await assertPrivileges(prisma);
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

async function findUnfinishedMigration(prisma: PrismaClient): Promise<string | undefined> {
  const rows = await prisma.$queryRaw<{ name: string }[]>`
    SELECT migration_name AS name FROM _prisma_migrations
    WHERE finished_at IS NULL AND rolled_back_at IS NULL ORDER BY started_at LIMIT 1`;
  return rows[0]?.name;
}

const retryAfter = { 'Retry-After': '1' };

/** Time of a request for the database in all: waiting for a connection, and one or two statements. */
const deadlineMs = 7000;

/** @throws DatabaseTimeout at the deadline, after which the query has no effect on the response */
async function withDeadline<T>(query: () => Promise<T>): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new DatabaseTimeout('lost', 'the database took too long')),
    deadlineMs,
  );
  try {
    return await Promise.race([query(), expired]);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs a query. An unavailable database becomes service_unavailable. */
async function reading<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await withDeadline(query);
  } catch (error) {
    if (unavailabilityOf(error) === undefined) throw error;
    throw new PetsError('service_unavailable', { headers: retryAfter, cause: error });
  }
}

/** For a write that may have happened or not. Without Retry-After, which would invite a second one. */
const outcomeUnknown = {
  message: 'The database did not confirm the create: the pet may or may not have been stored.',
};

/** The same for a write with an idempotency key, which can be repeated without harm. */
const repeatable = {
  message: 'The database did not confirm the create. Repeat the request with the same Idempotency-Key.',
  headers: retryAfter,
};

/** As `reading`, with another error if the outcome of the write is unknown. */
async function writing<T>(
  query: () => Promise<T>,
  lost: { message: string; headers?: Record<string, string> },
): Promise<T> {
  try {
    return await withDeadline(query);
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
