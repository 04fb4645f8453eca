import { hash } from 'node:crypto';
import { PetsError } from '../errors.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';
import type { TokenCaller } from '../internal-token.ts';
import type { NewPet } from '../pets/pet.ts';

/** An idempotency key belongs to its caller: nobody can use, or probe for, another caller's key. */
export interface ScopedIdempotencyKey extends TokenCaller {
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
export function createOnce(
  prisma: PrismaClient,
  pet: NewPet,
  { issuer, subject, key }: ScopedIdempotencyKey,
) {
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
export const deleteExpiredKeys = (prisma: PrismaClient, limit: number): Promise<number> => prisma.$executeRaw`
  DELETE FROM idempotency_keys WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM idempotency_keys WHERE created_at <= CURRENT_TIMESTAMP - interval '24 hours'
    ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED))`;
