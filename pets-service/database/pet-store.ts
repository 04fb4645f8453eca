import type { HttpErrorOptions } from '#runtime/http-error.ts';
import { PetsError } from '../errors.ts';
import { PrismaClient } from '../generated/prisma/client.ts';
import type { PetsQuery } from '../pets/pet-input.ts';
import type { NewPet, Pet } from '../pets/pet.ts';
import { createConnectionSlots } from './connection-slots.ts';
import { DatabaseTimeout, isSchemaError, SchemaError, unavailabilityOf } from './database-error.ts';
import type { DatabasePools } from './database.ts';
import { createIdempotentCreate, type ScopedIdempotencyKey } from './idempotent-create.ts';
import { createSharedQueries } from './shared-queries.ts';
import { createStatementSpans, type StatementSpans } from './statement-spans.ts';

export type PetStore = ReturnType<typeof createPetStore>;

/** What a pool does at the moment: its connections, statements that run on them, and statements that wait for one. */
export type PoolState = ReturnType<PetStore['pools']>[number];

const retryLater = { headers: { 'Retry-After': '1' } };

/** For a write that may have happened or not. Without Retry-After, which would invite a second one. */
const outcomeUnknown = {
  message: 'The database did not confirm the create: the pet may or may not have been stored.',
};

/** The same for a write with an idempotency key, which can be repeated without harm. */
const repeatable = {
  message: 'The database did not confirm the create. Repeat the request with the same Idempotency-Key.',
  ...retryLater,
};

/** Time of a request for the database in all: waiting for a connection, and one or two statements. */
const deadlineMs = 7000;

/**
 * Nothing outside this folder imports Prisma. All queries of requests throw PetsError service_unavailable if the database
 * is unavailable.
 * @param onStatement called with the name of the pool and the duration of each statement
 */
export function createPetStore(
  pools: DatabasePools,
  onStatement: (pool: string, seconds: number) => void = () => {},
  spans: StatementSpans = createStatementSpans(),
) {
  const connect = (name: 'reads' | 'writes') => ({
    name,
    // With other formats Prisma captures the stack at each call, to show code in its error messages.
    prisma: new PrismaClient({ adapter: pools[name].adapter, errorFormat: 'minimal' }),
    slots: createConnectionSlots(pools[name].size, (seconds) => onStatement(name, seconds)),
  });
  const reads = connect('reads');
  const writes = pools.writes === pools.reads ? reads : connect('writes');
  const connections = [...new Set([reads, writes])];
  const idempotent = createIdempotentCreate(writes, spans);
  const queries = createSharedQueries(reads, writes, spans);

  /**
   * Runs a query of a request until its deadline, after which it has no effect on the response. An unavailable database
   * becomes service_unavailable.
   * @param lost what the response says if the outcome is unknown
   */
  async function serve<T>(name: string, query: () => Promise<T>, lost: HttpErrorOptions = retryLater) {
    const { promise: expired, reject } = Promise.withResolvers<never>();
    const expire = () => reject(new DatabaseTimeout('lost', 'the database took too long'));
    const timer = setTimeout(expire, deadlineMs);
    try {
      return await Promise.race([spans.step(name, query), expired]);
    } catch (error) {
      const unavailability = unavailabilityOf(error);
      if (unavailability === undefined) throw error;
      const said = unavailability === 'lost' ? lost : retryLater;
      throw new PetsError('service_unavailable', { ...said, cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    /** Pets by id ascending; `more` says whether there are further ones. */
    async list(query: PetsQuery): Promise<{ pets: Pet[]; more: boolean }> {
      const pets = await serve('list pets', () => queries.findPage(query));
      return { pets: pets.slice(0, query.limit), more: pets.length > query.limit };
    },
    create: (pet: NewPet) => serve('create pet', () => queries.create(pet), outcomeUnknown),
    createOnce: (pet: NewPet, key: ScopedIdempotencyKey) =>
      serve('create pet once', () => idempotent.createOnce(pet, key), repeatable),
    deleteExpiredKeys: (limit: number) =>
      serve('delete expired keys', () => idempotent.deleteExpiredKeys(limit)),
    find: (id: bigint) => serve('find pet', () => queries.find(id)),
    ping: () => serve('ping', () => reads.slots.run(() => reads.prisma.$queryRaw`SELECT 1`)),
    /** @throws SchemaError if a table, a column or a privilege is missing; Prisma's error otherwise */
    assertSchema: () => reads.slots.run(() => assertSchema(reads.prisma)),
    /** `reads` is for both if there is one connection only. */
    pools: () => connections.map(({ name, slots }) => ({ name, ...slots.state() })),
    async close(): Promise<void> {
      await Promise.all(connections.map(({ prisma }) => prisma.$disconnect()));
    },
  };
}

async function assertSchema(prisma: PrismaClient): Promise<void> {
  try {
    await useSchema(prisma);
  } catch (error) {
    if (!isSchemaError(error)) throw error;
    throw new SchemaError('database schema is missing or out of date; run npm run migrate', { cause: error });
  }
}

/** Everything that this service does with tables. */
const tablePrivileges = {
  pets: ['SELECT', 'INSERT'],
  idempotency_keys: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
};

/** Needs all that statements of this service need. Names resolve as in them, and in models, which use `public`. */
async function useSchema(prisma: PrismaClient): Promise<void> {
  // Model calls select all columns. No row can match.
  await prisma.pet.findFirst({ where: { id: 0n } });
  await prisma.idempotencyKey.findFirst({ where: { issuer: '' } });
  const lacking = await prisma.$queryRaw<{ lacking: string }[]>`
    SELECT privilege || ' on ' || relation AS lacking
    FROM jsonb_each(${JSON.stringify(tablePrivileges)}::jsonb) AS needed (relation, privileges),
      jsonb_array_elements_text(privileges) AS privilege
    WHERE NOT has_table_privilege(relation, privilege)
    UNION ALL
    SELECT 'USAGE on pets_id_seq' WHERE NOT has_sequence_privilege('pets_id_seq', 'USAGE')`;
  if (lacking.length === 0) return;
  throw new SchemaError(`the role lacks ${lacking.map((row) => row.lacking).join(', ')}`);
}
