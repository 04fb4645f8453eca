import { hash } from 'node:crypto';
import { PetsError } from '../errors.ts';
import type { TokenCaller } from '../internal-token.ts';
import type { NewPet } from '../pets/pet.ts';
import { limitTransaction, type Connections } from './connections.ts';
import type { StatementSpans } from './statement-spans.ts';

/** An idempotency key belongs to its caller: nobody can use, or probe for, another caller's key. */
export interface ScopedIdempotencyKey extends TokenCaller {
  key: string;
}

const validMs = 24 * 60 * 60 * 1000;

/**
 * Key and pet are written by one transaction, so both exist or neither, whatever crashes. Its lock makes a concurrent
 * request with the same key get 409 instead of waiting. The clock is the database's, which all instances share.
 */
export function createIdempotentCreate({ transact, run }: Connections, spans: StatementSpans) {
  /** Locks of requests in this process, so that early retries take no connection. */
  const inFlight = new Set<bigint>();

  function createIn(caller: ScopedIdempotencyKey, lock: bigint, pet: NewPet) {
    // Of the content and not of the bytes: a retry may order fields or write numbers differently.
    const content = JSON.stringify([pet.name, pet.categoryId.toString(), pet.status]);
    const fingerprint = hash('sha256', content, 'buffer');
    return transact(async (transaction) => {
      const { idempotencyKey } = transaction;
      const known = await spans.statement('SELECT idempotency_keys', async () => {
        const [{ held, now }] = await transaction.$queryRaw<[{ held: boolean; now: Date }]>`
          SELECT pg_try_advisory_xact_lock(${lock}) AS held, CURRENT_TIMESTAMP AS now, ${limitTransaction}`;
        if (!held) throw inUse();
        return { now, row: await idempotencyKey.findUnique({ where: { issuer_subject_key: caller } }) };
      });
      const { now, row } = known;
      if (row !== null && now.getTime() - row.createdAt.getTime() < validMs) {
        if (!fingerprint.equals(row.fingerprint)) throw new PetsError('idempotency_key_reused');
        // The content is the same, so the first response was this content with the id of the key's row.
        return { pet: { id: row.petId, ...pet }, replayed: true };
      }
      const created = await spans.statement('INSERT pets', () => transaction.pet.create({ data: pet }));
      const values = { fingerprint, petId: created.id, createdAt: now };
      await spans.statement('INSERT idempotency_keys', () =>
        idempotencyKey.upsert({
          where: { issuer_subject_key: caller },
          create: { ...caller, ...values },
          update: values,
        }),
      );
      return { pet: created, replayed: false };
    });
  }

  return {
    /**
     * Creates a pet, or finds the one that was created with the same key within the last 24 hours.
     * @returns the pet, and as `replayed` whether an earlier request with the same key created it
     * @throws PetsError idempotency_key_in_use, idempotency_key_reused
     */
    async createOnce(pet: NewPet, { issuer, subject, key }: ScopedIdempotencyKey) {
      const lock = hash('sha256', JSON.stringify([issuer, subject, key]), 'buffer').readBigInt64BE();
      if (inFlight.has(lock)) throw inUse();
      inFlight.add(lock);
      try {
        return await createIn({ issuer, subject, key }, lock, pet);
      } finally {
        inFlight.delete(lock);
      }
    },
    /** Deletes up to `limit` keys older than 24 hours. @returns the number of deleted keys */
    async deleteExpiredKeys(limit: number): Promise<number> {
      const [{ expired }] = await run(
        'SELECT idempotency_keys',
        (prisma) => prisma.$queryRaw<[{ expired: Date }]>`
          SELECT CURRENT_TIMESTAMP - interval '24 hours' AS expired`,
      );
      const keys = await run('SELECT idempotency_keys', ({ idempotencyKey }) =>
        idempotencyKey.findMany({
          where: { createdAt: { lte: expired } },
          orderBy: { createdAt: 'asc' },
          take: limit,
          select: { key: true, createdAt: true },
        }),
      );
      const last = keys.at(-1);
      if (last === undefined) return 0;
      // With its age: a create may have used one of the keys again since.
      const where = { createdAt: { lte: last.createdAt }, key: { in: keys.map(({ key }) => key) } };
      const { count } = await run('DELETE idempotency_keys', ({ idempotencyKey }) =>
        idempotencyKey.deleteMany({ where }),
      );
      return count;
    },
  };
}

const inUse = () => new PetsError('idempotency_key_in_use', { headers: { 'Retry-After': '1' } });
