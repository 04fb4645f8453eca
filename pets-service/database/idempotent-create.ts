import { hash } from 'node:crypto';
import { activeSpan } from '#runtime/tracing.ts';
import { PetsError } from '../errors.ts';
import type { TokenCaller } from '../internal-token.ts';
import type { NewPet } from '../pets/pet.ts';
import type { Connections } from './connection-slots.ts';
import type { StatementSpans, StatementSummary } from './statement-spans.ts';

/** An idempotency key belongs to its caller: nobody can use, or probe for, another caller's key. */
export interface ScopedIdempotencyKey extends TokenCaller {
  key: string;
}

/**
 * Key and pet are written by one statement, so both exist or neither, whatever crashes. The table's primary key makes the
 * pet unique; the lock only avoids waiting for a concurrent request with the same key. The clock is the database's, which
 * all instances share.
 */
export function createIdempotentCreate({ prisma, slots }: Connections, spans: StatementSpans) {
  /** Locks of requests in this process, so that early retries take no connection. */
  const inFlight = new Set<bigint>();

  const run = <T>(summary: StatementSummary, statement: () => Promise<T>) =>
    slots.run(() => spans.statement(summary, [activeSpan()], statement));

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
        // Of the content and not of the bytes: a retry may order fields or write numbers differently.
        const content = JSON.stringify([pet.name, pet.categoryId.toString(), pet.status]);
        const fingerprint = hash('sha256', content, 'buffer');
        // A retry draws an id that it does not need. Ids may have gaps.
        const [{ held, id }] = await run(
          'INSERT idempotency_keys',
          () => prisma.$queryRaw<[{ held: boolean; id: bigint | null }]>`
            WITH lock AS MATERIALIZED (
              SELECT pg_try_advisory_xact_lock(${lock}::bigint) AS held
            ), claim AS (
              INSERT INTO idempotency_keys (issuer, subject, key, fingerprint, pet_id, created_at)
              SELECT ${issuer}, ${subject}, ${key}, ${fingerprint}, nextval('pets_id_seq'), CURRENT_TIMESTAMP
              FROM lock WHERE held
              ON CONFLICT (issuer, subject, key) DO UPDATE
              SET fingerprint = EXCLUDED.fingerprint, pet_id = EXCLUDED.pet_id, created_at = EXCLUDED.created_at
              WHERE idempotency_keys.created_at <= CURRENT_TIMESTAMP - interval '24 hours'
              RETURNING pet_id
            ), pet AS (
              INSERT INTO pets (id, name, category_id, status)
              SELECT pet_id, ${pet.name}, ${pet.categoryId}::bigint, ${pet.status}::"PetStatus" FROM claim
              RETURNING id
            )
            SELECT held, (SELECT id FROM pet) AS id FROM lock`,
        );
        if (!held) throw inUse();
        if (id !== null) return { pet: { id, ...pet }, replayed: false };
        const known = await run('SELECT idempotency_keys', () =>
          prisma.idempotencyKey.findUnique({ where: { issuer_subject_key: { issuer, subject, key } } }),
        );
        // The key expired between the two statements.
        if (known === null) throw inUse();
        if (!fingerprint.equals(known.fingerprint)) throw new PetsError('idempotency_key_reused');
        // The content is the same, so the first response was this content with the id of the key's row.
        return { pet: { id: known.petId, ...pet }, replayed: true };
      } finally {
        inFlight.delete(lock);
      }
    },
    /** Deletes up to `limit` keys older than 24 hours. @returns the number of deleted keys */
    deleteExpiredKeys: (limit: number) =>
      slots.run(
        () => prisma.$executeRaw`
          DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM idempotency_keys
            WHERE created_at <= CURRENT_TIMESTAMP - interval '24 hours'
            ORDER BY created_at LIMIT ${limit}
            FOR UPDATE SKIP LOCKED
          ))`,
      ),
  };
}

const inUse = () => new PetsError('idempotency_key_in_use', { headers: { 'Retry-After': '1' } });
