import { hash } from 'node:crypto';
import { z } from 'zod';
import { PetsError } from '../errors.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';
import type { TokenCaller } from '../internal-token.ts';
import type { NewPet, Pet } from '../pets/pet.ts';

/** A key means something for its caller only: nobody can meet, or probe for, another one's. */
export interface CallersKey extends TokenCaller {
  key: string;
}

export interface KeyedCreate {
  /**
   * Adds the pet that the key stands for, or finds it where that has happened within the last 24 hours.
   * @throws PetsError idempotency_key_in_use, idempotency_key_reused
   */
  createOnce(pet: NewPet, key: CallersKey): Promise<Pet>;
  /** Removes up to `limit` keys of more than 24 hours. @returns how many they were */
  forgetOldKeys(limit: number): Promise<number>;
}

const claimed = z.tuple([z.object({ held: z.boolean(), id: z.bigint().nullable() })]);

/**
 * The key and its pet are written by one statement, hence both or neither, whatever crashes in between. What makes the
 * pet unique is the key's place in the table; the lock only turns waiting for another process's request with the same
 * key into an answer. The clock is the database's, which all instances share.
 */
export function createKeyedCreate(prisma: PrismaClient): KeyedCreate {
  /** Known without the database, so that impatient retries take no connection from its pool. */
  const inFlight = new Set<string>();

  async function claim(
    pet: NewPet,
    fingerprint: Uint8Array<ArrayBuffer>,
    scoped: CallersKey,
    lockId: bigint,
  ) {
    const { issuer, subject, key } = scoped;
    // An id that is drawn and then not needed, as by a retry, is a gap among ids. There are others.
    const [{ held, id }] = claimed.parse(
      await prisma.$queryRaw`
        WITH lock AS MATERIALIZED (
          SELECT pg_try_advisory_xact_lock(${lockId}::bigint) AS held
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
    return id;
  }

  return {
    async createOnce(pet, scoped) {
      const { issuer, subject, key } = scoped;
      const digest = hash('sha256', JSON.stringify([issuer, subject, key]), 'buffer');
      const lockId = digest.readBigInt64BE();
      const name = digest.toString('base64url');
      if (inFlight.has(name)) throw inUse();
      inFlight.add(name);
      try {
        const fingerprint = fingerprintOf(pet);
        const id = await claim(pet, fingerprint, scoped, lockId);
        if (id !== null) return { id, ...pet };
        const known = await prisma.idempotencyKey.findUnique({
          where: { issuer_subject_key: { issuer, subject, key } },
        });
        // Its 24 hours ended between the two statements.
        if (known === null) throw inUse();
        if (!fingerprint.equals(known.fingerprint)) throw new PetsError('idempotency_key_reused');
        // The same content, so the first answer is that content with the id it was given then.
        return { id: known.petId, ...pet };
      } finally {
        inFlight.delete(name);
      }
    },
    forgetOldKeys: (limit) => prisma.$executeRaw`
      DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM idempotency_keys
        WHERE created_at <= CURRENT_TIMESTAMP - interval '24 hours'
        ORDER BY created_at LIMIT ${limit}
        FOR UPDATE SKIP LOCKED
      ))`,
  };
}

/**
 * Of the content and not of the bytes: a client that builds its request anew may order fields or write numbers
 * otherwise, and still means the same pet.
 */
function fingerprintOf({ name, categoryId, status }: NewPet) {
  return hash('sha256', JSON.stringify([name, categoryId.toString(), status]), 'buffer');
}

function inUse(): PetsError {
  return new PetsError('idempotency_key_in_use', { headers: { 'Retry-After': '1' } });
}
