import type { z } from 'zod';
import { parseJson } from '../../platform/redis/parse-json.ts';
import type { ReadingSession, Session } from '../session.ts';
import { generateSecret, hashSecret } from './console-secret.ts';

export interface NewCode {
  /** Works once. It is not stored, only its hash is. */
  code: string;
  codeHash: string;
  expiresAtMs: number;
  /** ISO 8601 in UTC. */
  expiresAt: string;
}

const codeBits = 128;
export const codeMs = 5 * 60_000;

/** Makes a code, which works when it is stored. */
export function newCode({ now }: Pick<Session, 'now'>): NewCode {
  const code = generateSecret(codeBits);
  const expiresAtMs = now() + codeMs;
  const expiresAt = new Date(expiresAtMs).toISOString();
  return { code, codeHash: hashSecret(code), expiresAtMs, expiresAt };
}

/** Stores what a code stands for. */
export async function storeCode(
  { redis }: ReadingSession,
  key: string,
  record: { expiresAtMs: number },
): Promise<void> {
  await redis.set(key, JSON.stringify(record), 'PX', codeMs);
}

/**
 * Finds what a code stands for, without using it up.
 * @returns undefined if it was used before, has expired or never existed
 */
export async function findCode<T extends { expiresAtMs: number }>(
  { redis, now }: ReadingSession,
  key: string,
  schema: z.ZodType<T>,
): Promise<T | undefined> {
  const text = await redis.get(key);
  const record = schema.safeParse(parseJson(text ?? '')).data;
  return record !== undefined && record.expiresAtMs > now() ? record : undefined;
}

/** Uses a code up. @returns whether this call has: of several requests with the same code, on any gateways, one */
export async function useCode({ redis }: Pick<Session, 'redis'>, key: string): Promise<boolean> {
  return (await redis.del(key)) === 1;
}
