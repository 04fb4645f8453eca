import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { readProcessStatuses } from '../../platform/redis/process-statuses.ts';
import { createAuditLog } from '../../platform/redis/record-change.ts';
import { ignoreInvalid } from '../invalid-operation.ts';
import type { ReadingSession, Session } from '../session.ts';
import {
  consoleRoles,
  createConsoleSessions,
  type BegunSession,
  type ConsoleRole,
} from './console-sessions.ts';
import { createSecrets, linkCode } from './expiring-secrets.ts';

const schema = z.object({
  /** Id of the session that it will begin. */
  session: z.string(),
  name: z.string(),
  role: z.enum(consoleRoles),
  grantedBy: z.string(),
  expiresAt: z.iso.datetime(),
});

const codes = createSecrets({ ...linkCode, schema });

/** A gateway says twice a second where its console is. One that was killed is no longer listed after this time. */
const addressKeptMs = 30_000;

/**
 * Origin of a running console, which serves the whole fleet.
 * @param machine one of its gateways is preferred: a console on loopback can be opened there only
 */
export async function findConsoleOrigin(
  { redis, now }: ReadingSession,
  machine: string,
): Promise<string | undefined> {
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
  replaced: readonly BegunSession[] = [],
): Promise<BegunSession | undefined> {
  const found = await codes.find({ redis, now }, code);
  if (found === undefined || !(await codes.useUp({ redis }, code))) return undefined;
  const { session: id, name, role, grantedBy } = found;
  const audit = createAuditLog({ redis, who: name });
  const sessions = createConsoleSessions({ redis, audit, now });
  const begun = await sessions.begin({ id, name, role, grantedBy });
  for (const { session } of replaced) await ignoreInvalid(sessions.end(session.id));
  return begun;
}
