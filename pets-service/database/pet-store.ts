import type { HttpErrorOptions } from '#runtime/http-error.ts';
import { pino, type Logger } from 'pino';
import { PetsError } from '../errors.ts';
import type { Prisma } from '../generated/prisma/client.ts';
import type { NewPet, Pet, PetsQuery } from '../pets/pet.ts';
import { assertSchema } from './assert-schema.ts';
import { createConnections } from './connections.ts';
import { isNoResponse, unavailabilityOf } from './database-error.ts';
import type { DatabasePools } from './database.ts';
import { createIdempotentCreate, type ScopedIdempotencyKey } from './idempotent-create.ts';
import { createStatementSpans, type StatementSpans } from './statement-spans.ts';

export type PetStore = ReturnType<typeof createPetStore>;

/** What a pool does at the moment: its connections, queries that have one, and queries that wait for one. */
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

/** How long requests are refused at once after the database did not respond to one that waited for it. */
const refusalMs = 1000;

interface PetStoreOptions {
  log?: Logger;
  spans?: StatementSpans;
  /** Called with the name of the pool and the duration of each query. */
  onStatement?: (pool: string, seconds: number) => void;
}

/**
 * Nothing outside this folder imports Prisma. All queries of requests throw PetsError service_unavailable if the database
 * is unavailable.
 */
export function createPetStore(
  pools: DatabasePools,
  {
    log = pino({ level: 'silent' }),
    spans = createStatementSpans(),
    onStatement = () => {},
  }: PetStoreOptions = {},
) {
  const connect = (name: 'reads' | 'writes') =>
    createConnections({ name, pool: pools[name], log, spans, onStatement });
  const reads = connect('reads');
  const writes = pools.writes === pools.reads ? reads : connect('writes');
  const connections = [...new Set([reads, writes])];
  const idempotent = createIdempotentCreate(writes, spans);
  let respondedAtMs = 0;
  let silence: { untilMs: number; cause: unknown } | undefined;

  /**
   * Runs a query of a request. An unavailable database becomes service_unavailable.
   * @param lost what the response says if the outcome is unknown
   */
  async function serve<T>(query: () => Promise<T>, lost: HttpErrorOptions = retryLater): Promise<T> {
    const startedAtMs = performance.now();
    if (silence !== undefined && startedAtMs < silence.untilMs) {
      throw new PetsError('service_unavailable', { ...retryLater, cause: silence.cause });
    }
    try {
      const result = await query();
      respondedAtMs = performance.now();
      return result;
    } catch (error) {
      // If another query got a response meanwhile, only the connection of this one was dead.
      if (isNoResponse(error) && respondedAtMs < startedAtMs) {
        silence = { untilMs: performance.now() + refusalMs, cause: error };
      }
      const unavailability = unavailabilityOf(error);
      if (unavailability === undefined) throw error;
      const said = unavailability === 'lost' ? lost : retryLater;
      throw new PetsError('service_unavailable', { ...said, cause: error });
    }
  }

  return {
    /** Pets by id ascending; `more` says whether there are further ones. */
    async list({ limit, ...query }: PetsQuery): Promise<{ pets: Pet[]; more: boolean }> {
      const page = { ...pageOf(query), take: limit + 1 };
      const pets = await serve(() => reads.run('SELECT pets', ({ pet }) => pet.findMany(page)));
      return { pets: pets.slice(0, limit), more: pets.length > limit };
    },
    create: (data: NewPet): Promise<Pet> =>
      serve(() => writes.run('INSERT pets', ({ pet }) => pet.create({ data })), outcomeUnknown),
    createOnce: (pet: NewPet, key: ScopedIdempotencyKey) =>
      serve(() => idempotent.createOnce(pet, key), repeatable),
    deleteExpiredKeys: (limit: number) => serve(() => idempotent.deleteExpiredKeys(limit)),
    // Not findUnique, which joins calls of the same moment, so that one unreadable pet fails them all.
    find: (id: bigint): Promise<Pet | null> =>
      serve(() => reads.run('SELECT pets', ({ pet }) => pet.findFirst({ where: { id } }))),
    ping: () => reads.run('SELECT pets', (prisma) => prisma.$queryRaw`SELECT 1`),
    assertSchema: () => assertSchema(reads),
    /** `reads` is for both if there is one connection only. */
    pools: () => connections.map(({ state }) => state()),
    async close(): Promise<void> {
      await Promise.all(connections.map(({ prisma }) => prisma.$disconnect()));
    },
  };
}

/**
 * Pages are read in the order of an index. PostgreSQL could otherwise scan the primary key past all pets of other statuses:
 * it expects statuses to be mixed, but a store's oldest pets are sold. A list of two statuses and both columns in the order
 * rule that out; with an equality PostgreSQL would see that the order is that of the id.
 */
function pageOf({ status, afterId }: Omit<PetsQuery, 'limit'>): Prisma.PetFindManyArgs {
  const where = afterId === undefined ? {} : { id: { gt: afterId } };
  if (status === undefined) return { where, orderBy: { id: 'asc' } };
  return {
    where: { ...where, status: { in: [status, status] } },
    orderBy: [{ status: 'asc' }, { id: 'asc' }],
  };
}
