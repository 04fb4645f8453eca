import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import type { Logger } from 'pino';
import { PetsError, type PetsErrorOptions } from '../errors.ts';
import { PrismaClient, type Prisma } from '../generated/prisma/client.ts';
import type { TokenCaller } from '../internal-token.ts';
import type { NewPet, Pet, PetsQuery } from '../pets/pet.ts';
import { statementTimeoutMs, unavailabilityOf, type DatabasePools } from './database.ts';

export type PetStore = ReturnType<typeof createPetStore>;

/** Orchestrators wait for a second or two, and a slow database must not fail their probes. */
const checkTimeoutMs = 500;

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

/**
 * Nothing outside this folder imports Prisma. All queries of requests throw PetsError service_unavailable if the database
 * is unavailable.
 */
export function createPetStore(pools: DatabasePools, log: Logger) {
  const reads = connect(pools.reads);
  const writes = pools.writes === pools.reads ? reads : connect(pools.writes);
  let everAvailable = false;
  let isLogged = false;

  /** Selects all columns of both tables. No row can match. Logs each change. */
  async function ask(): Promise<'ok' | 'unavailable'> {
    try {
      await Promise.all([
        reads.pet.findFirst({ where: { id: 0n } }),
        reads.idempotencyKey.findFirst({ where: { issuer: '' } }),
      ]);
      if (isLogged) log.warn('database is available again');
      isLogged = false;
      everAvailable = true;
      return 'ok';
    } catch (error) {
      const outdated = everAvailable ? '' : ', or its schema is out of date; run npm run migrate';
      if (!isLogged) log.error({ err: error }, `database is unavailable${outdated}`);
      isLogged = true;
      return 'unavailable';
    }
  }

  return {
    /** Pets by id ascending; `more` says whether there are further ones. */
    async list({ limit, ...query }: PetsQuery): Promise<{ pets: Pet[]; more: boolean }> {
      const page = { ...pageOf(query), take: limit + 1 };
      const pets = await serve(reads.pet.findMany(page));
      return { pets: pets.slice(0, limit), more: pets.length > limit };
    },
    create: (data: NewPet): Promise<Pet> => serve(writes.pet.create({ data }), outcomeUnknown),
    createOnce: (pet: NewPet, key: ScopedIdempotencyKey) => serve(createOnce(writes, pet, key), repeatable),
    deleteExpiredKeys: (limit: number) => deleteExpiredKeys(writes, limit),
    // Not findUnique, which joins calls of the same moment, so that one unreadable pet fails them all.
    find: (id: bigint): Promise<Pet | null> => serve(reads.pet.findFirst({ where: { id } })),
    /**
     * Whether the database responds and has the tables of this version; `unavailable` if that is not known in time. Never
     * rejects.
     */
    check: () => Promise.race([ask(), sleep(checkTimeoutMs, 'unavailable' as const, { ref: false })]),
    /** Whether it has been available once. */
    everAvailable: () => everAvailable,
    close: () => Promise.all([reads, writes].map((prisma) => prisma.$disconnect())),
  };
}

/** @param unconfirmed what the response says if a write may have happened */
async function serve<T>(query: Promise<T>, unconfirmed: PetsErrorOptions = retryLater): Promise<T> {
  try {
    return await query;
  } catch (error) {
    const unavailability = unavailabilityOf(error);
    if (unavailability === undefined) throw error;
    const said = unavailability === 'lost' ? unconfirmed : retryLater;
    throw new PetsError('service_unavailable', { ...said, cause: error });
  }
}

function connect(adapter: SqlDriverAdapterFactory): PrismaClient {
  return new PrismaClient({
    adapter,
    // With other formats Prisma captures the stack at each call, to show code in its error messages.
    errorFormat: 'minimal',
    // The pool gives up first when it waits for a connection.
    transactionOptions: { maxWait: 5000, timeout: statementTimeoutMs + 1000 },
  });
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

/** An idempotency key belongs to its caller: nobody can use, or probe for, another caller's key. */
interface ScopedIdempotencyKey extends TokenCaller {
  key: string;
}

const validMs = 24 * 60 * 60 * 1000;

/**
 * Creates a pet, or finds the one that was created with the same key within the last 24 hours. Key and pet are written by
 * one transaction, so both exist or neither, whatever crashes. Its lock makes a concurrent request with the same key get
 * 409 instead of waiting. The clock is the database's, which all instances share.
 * @returns the pet, and as `replayed` whether an earlier request with the same key created it
 * @throws PetsError idempotency_key_in_use, idempotency_key_reused
 */
function createOnce(prisma: PrismaClient, pet: NewPet, { issuer, subject, key }: ScopedIdempotencyKey) {
  const lock = hash('sha256', JSON.stringify([issuer, subject, key]), 'buffer').readBigInt64BE();
  // Of the content and not of the bytes: a retry may order fields or write numbers differently.
  const content = JSON.stringify([pet.name, pet.categoryId.toString(), pet.status]);
  const fingerprint = hash('sha256', content, 'buffer');
  return prisma.$transaction(async (transaction) => {
    const [{ held, now }] = await transaction.$queryRaw<[{ held: boolean; now: Date }]>`
      SELECT pg_try_advisory_xact_lock(${lock}) AS held, CURRENT_TIMESTAMP AS now`;
    if (!held) throw new PetsError('idempotency_key_in_use', { headers: { 'Retry-After': '1' } });
    const where = { issuer_subject_key: { issuer, subject, key } };
    const row = await transaction.idempotencyKey.findUnique({ where });
    if (row !== null && now.getTime() - row.createdAt.getTime() < validMs) {
      if (!fingerprint.equals(row.fingerprint)) throw new PetsError('idempotency_key_reused');
      // The content is the same, so the first response was this content with the id of the key's row.
      return { pet: { id: row.petId, ...pet }, replayed: true };
    }
    const created = await transaction.pet.create({ data: pet });
    const update = { fingerprint, petId: created.id, createdAt: now };
    const create = { issuer, subject, key, ...update };
    await transaction.idempotencyKey.upsert({ where, create, update });
    return { pet: created, replayed: false };
  });
}

/**
 * Deletes up to `limit` keys older than 24 hours. One that a create renews, or another instance deletes, at this moment is
 * locked, and skipped.
 * @returns the number of deleted keys
 */
const deleteExpiredKeys = (prisma: PrismaClient, limit: number): Promise<number> => prisma.$executeRaw`
  DELETE FROM idempotency_keys WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM idempotency_keys WHERE created_at <= CURRENT_TIMESTAMP - interval '24 hours'
    ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED))`;
