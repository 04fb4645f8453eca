import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { readProcessStatuses } from '../../platform/redis/process-statuses.ts';
import { createAuditLog } from '../../platform/redis/record-change.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { parseJson } from '../../platform/redis/redis-values.ts';
import { ignoreInvalid, InvalidOperation } from '../invalid-operation.ts';
import type { ReadingSession, Session } from '../session.ts';
import { createSecrets, generateSecret, hashSecret, linkCode, type SignedIn } from './expiring-secrets.ts';

/** A viewer sees everything, an operator also changes it. */
export const consoleRoles = ['viewer', 'operator'] as const;

export type ConsoleRole = (typeof consoleRoles)[number];

export const consoleSessionId = /^console_[\da-f]{12}$/;

/** A person who is signed in to the console. */
export const consoleSessionSchema = z.object({
  id: z.string().describe('For lists and the audit log; it gives no access'),
  name: z.string(),
  role: z.enum(consoleRoles),
  grantedBy: z.string().describe('Who has made the link'),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
});

export type ConsoleSession = z.infer<typeof consoleSessionSchema>;

const tokenBits = 256;
const tokenPattern = /^[\w-]{43}$/;
/** Twelve hours: a working day. */
export const sessionMs = 12 * 3_600_000;

/** Sessions of the console. A record is written once and then only deleted, so that nothing revives one that was ended. */
export function createConsoleSessions({ redis, audit, now }: Session) {
  const { consoleSessions: sessionsKey } = redisKeys;

  /** @returns undefined for a record that is invalid or has expired */
  function parseRecord(text: string | null): ConsoleSession | undefined {
    const session = consoleSessionSchema.safeParse(parseJson(text ?? '')).data;
    return session !== undefined && Date.parse(session.expiresAt) > now() ? session : undefined;
  }

  async function readAll(): Promise<{ tokenHash: string; session: ConsoleSession | undefined }[]> {
    const records = await redis.hgetall(sessionsKey);
    return Object.entries(records).map(([tokenHash, text]) => ({ tokenHash, session: parseRecord(text) }));
  }

  async function remove(tokenHashes: readonly string[]): Promise<void> {
    if (tokenHashes.length === 0) return;
    await redis.hdel(sessionsKey, ...tokenHashes);
  }

  const recordEnd = ({ id, name, role }: ConsoleSession) =>
    audit({ action: 'console.end', target: id, before: { name, role }, after: null });

  return {
    async begin(
      person: Pick<ConsoleSession, 'id' | 'name' | 'role' | 'grantedBy'>,
    ): Promise<SignedIn<ConsoleSession>> {
      const stale = (await readAll()).filter(({ session }) => session === undefined);
      await remove(stale.map(({ tokenHash }) => tokenHash));
      const token = generateSecret(tokenBits);
      const createdAt = new Date(now()).toISOString();
      const expiresAt = new Date(now() + sessionMs).toISOString();
      const session: ConsoleSession = { ...person, createdAt, expiresAt };
      const { id, name, role } = session;
      await audit({ action: 'console.sign_in', target: id, before: null, after: { name, role, expiresAt } });
      await redis.hset(sessionsKey, hashSecret(token), JSON.stringify(session));
      // After the last session has expired, nothing is left.
      await redis.pexpire(sessionsKey, sessionMs);
      return { token, session };
    },
    /** Finds the session of a token. @returns undefined if it has ended or expired */
    async find(token: string): Promise<ConsoleSession | undefined> {
      if (!tokenPattern.test(token)) return undefined;
      return parseRecord(await redis.hget(sessionsKey, hashSecret(token)));
    },
    /** Sessions that have not expired, oldest first. */
    async list(): Promise<ConsoleSession[]> {
      const sessions = (await readAll()).flatMap(({ session }) => session ?? []);
      return sessions.toSorted((one, other) => one.createdAt.localeCompare(other.createdAt));
    },
    /** @throws InvalidOperation if there is no such session */
    async end(id: string): Promise<ConsoleSession> {
      const { tokenHash, session } = (await readAll()).find((entry) => entry.session?.id === id) ?? {};
      if (tokenHash === undefined || session === undefined) {
        throw new InvalidOperation(`there is no session ${id}: it has ended or expired, or never was`);
      }
      await recordEnd(session);
      await remove([tokenHash]);
      return session;
    },
    /** Ends all sessions, also those whose record is invalid. @returns those that were valid */
    async endAll(): Promise<ConsoleSession[]> {
      const ending = await readAll();
      const sessions = ending.flatMap(({ session }) => session ?? []);
      for (const session of sessions) await recordEnd(session);
      await remove(ending.map(({ tokenHash }) => tokenHash));
      return sessions;
    },
  };
}

const codeSchema = z.object({
  /** Id of the session that it will begin. */
  session: z.string(),
  name: z.string(),
  role: z.enum(consoleRoles),
  grantedBy: z.string(),
  expiresAt: z.iso.datetime(),
});

const codes = createSecrets({ ...linkCode, schema: codeSchema });

/** A gateway says twice a second where its console is. One that was killed is no longer listed after this time. */
const addressKeptMs = 30_000;

/**
 * Origin of a running console, which serves the whole fleet.
 * @param machine one of its gateways is preferred: a console on loopback can be opened there only
 */
export async function findConsoleOrigin({ redis, now }: ReadingSession, machine: string) {
  const statuses = await readProcessStatuses(redis);
  const consoles = statuses
    .filter(({ at, gateway }) => at >= now() - addressKeptMs && gateway.consoleOrigin !== undefined)
    .map(({ gateway }) => gateway);
  return (consoles.find(({ host }) => host === machine) ?? consoles[0])?.consoleOrigin;
}

/** Makes a code that begins one session for a person, within five minutes. It is not stored, only its hash is. */
export async function makeConsoleCode(
  operator: Session,
  { name, role }: { name: string; role: ConsoleRole },
) {
  const session = `console_${randomBytes(6).toString('hex')}`;
  const fields = { session, name, role, grantedBy: operator.audit.who };
  const change = { action: 'console.link', target: session, after: { name, role } };
  const { secret: code, record } = await codes.make(operator, fields, change);
  return { code, name, role, expiresAt: record.expiresAt, session };
}

/** Finds whom a code is for, without using it up. @returns undefined if it was used before, has expired or never existed */
export const findConsoleCode = (session: ReadingSession, code: string) => codes.find(session, code);

/**
 * Exchanges a code for a session, in the name of the person it is for.
 * @param replaced sessions of the same browser, which end
 * @returns undefined as findConsoleCode does
 */
export async function redeemConsoleCode(
  { redis, now }: ReadingSession,
  code: string,
  replaced: readonly SignedIn<ConsoleSession>[] = [],
): Promise<SignedIn<ConsoleSession> | undefined> {
  const found = await codes.find({ redis, now }, code);
  if (found === undefined || !(await codes.useUp({ redis }, code))) return undefined;
  const { session: id, name, role, grantedBy } = found;
  const audit = createAuditLog({ redis, who: name });
  const sessions = createConsoleSessions({ redis, audit, now });
  const begun = await sessions.begin({ id, name, role, grantedBy });
  for (const { session } of replaced) await ignoreInvalid(sessions.end(session.id));
  return begun;
}
