import { hash, randomBytes } from 'node:crypto';
import type { z } from 'zod';
import type { Change } from '../../platform/redis/record-change.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { parseJson } from '../../platform/redis/redis-values.ts';
import type { ReadingSession, Session } from '../session.ts';

/** A session that has begun. */
export interface SignedIn<Session> {
  session: Session;
  /** Secret of the browser. It is not stored, only its hash is. */
  token: string;
}

interface SecretKind<Stored> {
  /** Redis key by the hash of the secret, which alone is stored. */
  keyOf: (hash: string) => string;
  bits: number;
  lifetimeMs: number;
  schema: z.ZodType<Stored>;
}

/** A code in a link. What is stored of one for the console is no record of the portal, and the other way round. */
export const linkCode = { keyOf: redisKeys.linkCode, bits: 128, lifetimeMs: 5 * 60_000 };

/** Secrets of a kind, each of which stands for a record until it expires. */
export function createSecrets<Stored extends { expiresAt: string }>({
  keyOf,
  bits,
  lifetimeMs,
  schema,
}: SecretKind<Stored>) {
  const pattern = new RegExp(String.raw`^[\w-]{${Math.ceil(bits / 6)}}$`);
  return {
    /** @param change for the audit log, which also says when the secret expires */
    async make(
      { redis, audit, now }: Session,
      fields: Omit<Stored, 'expiresAt'>,
      { action, target, after }: Omit<Change, 'before' | 'after'> & { after: object },
    ): Promise<{ secret: string; record: Stored }> {
      const secret = generateSecret(bits);
      const expiresAt = new Date(now() + lifetimeMs).toISOString();
      const record = schema.parse({ ...fields, expiresAt });
      await audit({ action, target, before: null, after: { ...after, expiresAt } });
      await redis.set(keyOf(hashSecret(secret)), JSON.stringify(record), 'PX', lifetimeMs);
      return { secret, record };
    },
    /** @returns undefined if the secret was used up, has expired or never existed */
    async find({ redis, now }: ReadingSession, secret: string): Promise<Stored | undefined> {
      if (!pattern.test(secret)) return undefined;
      const text = await redis.get(keyOf(hashSecret(secret)));
      const record = schema.safeParse(parseJson(text ?? '')).data;
      return record !== undefined && Date.parse(record.expiresAt) > now() ? record : undefined;
    },
    /** @returns whether this call has used it up: of several with the same secret, on any gateways, one */
    async useUp({ redis }: Pick<Session, 'redis'>, secret: string): Promise<boolean> {
      return (await redis.del(keyOf(hashSecret(secret)))) === 1;
    },
  };
}

/** Generates a random secret as base64url. */
export const generateSecret = (bits: number) => randomBytes(bits / 8).toString('base64url');

/** Hexadecimal SHA-256: the only form in which a code or a token is stored or looked up. */
export const hashSecret = (secret: string) => hash('sha256', secret, 'hex');
