import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { createAuditLog } from '../redis/record-change.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { hashSecret } from './console-secret.ts';
import {
  consoleRoles,
  createConsoleSessions,
  type BegunSession,
  type ConsoleRole,
  type ConsoleSession,
} from './console-sessions.ts';
import { ignoreInvalid } from './invalid-operation.ts';
import { codeMs, findCode, newCode, storeCode, useCode } from './one-time-codes.ts';
import type { ReadingSession, Session } from './session.ts';

/** Whom a link is for. */
export interface ConsolePerson {
  name: string;
  role: ConsoleRole;
}

export interface ReaderCode extends ConsolePerson {
  /** Works once. It is not stored, only its hash is. */
  code: string;
  /** ISO 8601 in UTC. */
  expiresAt: string;
}

export interface ConsoleCode extends ReaderCode {
  /** Id of the session that it will begin. */
  session: string;
}

/** That of a reader begins with their name, as part of the name of the Redis key. */
const codePattern = /^(?:(?<reader>[\w-]{1,40})\.)?(?<secret>[\w-]{22})$/;

const codeRecord = z.object({
  session: z.string(),
  name: z.string(),
  role: z.enum(consoleRoles),
  grantedBy: z.string(),
  expiresAtMs: z.number(),
});

/** Whatever else a reader writes, such as another name or role, means nothing. */
const readerRecord = z.object({ codeHash: z.string(), expiresAtMs: z.number() });

/** Makes a code that begins one session for a person, within five minutes. */
export async function makeConsoleCode(
  operator: Session,
  { name, role }: ConsolePerson,
): Promise<ConsoleCode> {
  const { audit } = operator;
  const { code, codeHash, expiresAtMs, expiresAt } = newCode(operator);
  const session = newSessionId();
  await audit({ action: 'console.link', target: session, before: null, after: { name, role, expiresAt } });
  const record: z.infer<typeof codeRecord> = { session, name, role, grantedBy: audit.who, expiresAtMs };
  await storeCode(operator, redisKeys.consoleCode(codeHash), record);
  return { code, name, role, expiresAt, session };
}

/**
 * Makes a code with the Redis user of a reader (redis-acl.ts), for themselves and to look only. It replaces the one before. The
 * audit log, which this user cannot write to, has it when it is used.
 */
export async function makeReaderCode({ redis, now }: ReadingSession, reader: string): Promise<ReaderCode> {
  const { code: secret, codeHash, expiresAtMs, expiresAt } = newCode({ now });
  const record: z.infer<typeof readerRecord> = { codeHash, expiresAtMs };
  await redis.psetex(redisKeys.consoleReader(reader), codeMs, JSON.stringify(record));
  return {
    code: `${reader}.${secret}`,
    name: reader,
    role: 'viewer',
    expiresAt,
  };
}

const newSessionId = () => `console_${randomBytes(6).toString('hex')}`;

interface FoundCode extends Pick<ConsoleSession, 'id' | 'name' | 'role' | 'grantedBy'> {
  /** Redis key that is deleted when the code is used. */
  key: string;
  /** Whether its link is in the audit log. */
  isRecorded: boolean;
}

/**
 * Finds whom a code is for, without using it up.
 * @returns undefined if it was used before, has expired or never existed
 */
export async function findConsolePerson(
  session: ReadingSession,
  code: string,
): Promise<FoundCode | undefined> {
  const { reader, secret } = codePattern.exec(code)?.groups ?? {};
  if (secret === undefined) return undefined;
  const codeHash = hashSecret(secret);
  if (reader !== undefined) {
    const key = redisKeys.consoleReader(reader);
    const record = await findCode(session, key, readerRecord);
    if (record?.codeHash !== codeHash) return undefined;
    return { id: newSessionId(), name: reader, role: 'viewer', grantedBy: reader, key, isRecorded: false };
  }
  const key = redisKeys.consoleCode(codeHash);
  const record = await findCode(session, key, codeRecord);
  if (record === undefined) return undefined;
  const { session: id, name, role, grantedBy } = record;
  return { id, name, role, grantedBy, key, isRecorded: true };
}

/**
 * Exchanges a code for a session, in the name of the person it is for.
 * @param replaced sessions of the same browser, which end
 * @returns undefined if it was used before, has expired or never existed
 */
export async function redeemConsoleCode(
  { redis, now }: ReadingSession,
  code: string,
  replaced: readonly ConsoleSession[] = [],
): Promise<BegunSession | undefined> {
  const found = await findConsolePerson({ redis, now }, code);
  if (found === undefined || !(await useCode({ redis }, found.key))) return undefined;
  const { id, name, role, grantedBy, isRecorded } = found;
  const audit = createAuditLog({ redis, who: name });
  if (!isRecorded) await audit({ action: 'console.link', target: id, before: null, after: { name, role } });
  const sessions = createConsoleSessions({ redis, audit, now });
  const begun = await sessions.begin({ id, name, role, grantedBy });
  for (const session of replaced) await ignoreInvalid(sessions.end(session.id));
  return begun;
}
