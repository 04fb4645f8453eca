import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { parseJson } from '../redis/parse-json.ts';
import { createAuditLog } from '../redis/record-change.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { generateSecret, hashSecret } from './console-secret.ts';
import {
  consoleRoles,
  createConsoleSessions,
  type BegunSession,
  type ConsoleRole,
  type ConsoleSession,
} from './console-sessions.ts';
import { ignoreInvalid } from './invalid-operation.ts';
import type { Session } from './session.ts';

/** Whom a link is for. */
export interface ConsolePerson {
  name: string;
  role: ConsoleRole;
}

export interface ConsoleCode extends ConsolePerson {
  /** Works once. It is not stored, only its hash is. */
  code: string;
  /** Id of the session that it will begin. */
  session: string;
  /** ISO 8601 in UTC. */
  expiresAt: string;
}

const codeBits = 128;
const codeMs = 5 * 60_000;
const codePattern = /^[\w-]{22}$/;

const codeRecord = z.object({
  session: z.string(),
  name: z.string(),
  role: z.enum(consoleRoles),
  expiresAtMs: z.number(),
});

/** Makes a code that begins one session for a person, within five minutes. */
export async function makeConsoleCode(
  { redis, audit, now }: Session,
  { name, role }: ConsolePerson,
): Promise<ConsoleCode> {
  const code = generateSecret(codeBits);
  const session = `console_${randomBytes(6).toString('hex')}`;
  const expiresAtMs = now() + codeMs;
  const expiresAt = new Date(expiresAtMs).toISOString();
  await audit({ action: 'console.link', target: session, before: null, after: { name, role, expiresAt } });
  const record: z.infer<typeof codeRecord> = { session, name, role, expiresAtMs };
  await redis.set(redisKeys.consoleCode(hashSecret(code)), JSON.stringify(record), 'PX', codeMs);
  return { code, session, name, role, expiresAt };
}

type CodeSession = Pick<Session, 'redis' | 'now'>;

/**
 * Finds whom a code is for, without using it up.
 * @returns undefined if it was used before, has expired or never existed
 */
export async function findConsolePerson(
  { redis, now }: CodeSession,
  code: string,
): Promise<(ConsolePerson & { session: string }) | undefined> {
  if (!codePattern.test(code)) return undefined;
  const text = await redis.get(redisKeys.consoleCode(hashSecret(code))).catch((error: unknown) => {
    if (isWrongType(error)) return null;
    throw error;
  });
  const record = codeRecord.safeParse(parseJson(text ?? '')).data;
  return record !== undefined && record.expiresAtMs > now() ? record : undefined;
}

/**
 * Exchanges a code for a session, in the name of the person it is for.
 * @param replaced sessions of the same browser, which end
 * @returns undefined if it was used before, has expired or never existed
 */
export async function redeemConsoleCode(
  { redis, now }: CodeSession,
  code: string,
  replaced: readonly ConsoleSession[] = [],
): Promise<BegunSession | undefined> {
  const found = await findConsolePerson({ redis, now }, code);
  // Of several requests with the same code, on any gateways, one has deleted it.
  if (found === undefined || (await redis.del(redisKeys.consoleCode(hashSecret(code)))) !== 1)
    return undefined;
  const { session: id, name, role } = found;
  const sessions = createConsoleSessions({ redis, audit: createAuditLog({ redis, who: name }), now });
  const begun = await sessions.begin({ id, name, role });
  for (const session of replaced) await ignoreInvalid(sessions.end(session.id));
  return begun;
}
