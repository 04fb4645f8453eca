import { z } from 'zod';
import { createAuditLog } from '../../platform/redis/record-change.ts';
import { isCustomerId, redisKeys, type CustomerId } from '../../platform/redis/redis-keys.ts';
import { showCustomer } from '../customers/stored-customers.ts';
import type { ReadingSession, Session } from '../session.ts';
import { findValidToken } from './api-tokens.ts';
import { createSecrets, linkCode, type SignedIn } from './expiring-secrets.ts';

const schema = z.object({
  customerId: z.string().refine(isCustomerId),
  /** The operator whose link it is, or the name of the API token. */
  grantedBy: z.string(),
  /** Hash of the API token that has made the link; absent if a person has. */
  tokenHash: z.string().optional(),
  expiresAt: z.iso.datetime(),
});

/** A person whom an operator's own product has let into the portal of a customer. */
export type PortalSession = z.infer<typeof schema>;

/** An hour: enough to look and to change a key. */
export const portalSessionMs = 3_600_000;

const codes = createSecrets({ ...linkCode, schema });
const sessions = createSecrets({
  bits: 256,
  lifetimeMs: portalSessionMs,
  keyOf: redisKeys.portalSession,
  schema,
});

/** Name in the audit log of what a customer does. */
export const portalPerson = (customerId: CustomerId) => `portal:${customerId}`;

/**
 * Makes a code that begins one session of the portal for a customer, within five minutes.
 * @param tokenHash of the API token that makes it, with which it ends, as does its session
 * @throws InvalidOperation if there is no such customer
 */
export async function makePortalCode(session: Session, customer: string, tokenHash?: string) {
  const { id: customerId } = await showCustomer(session.redis, customer);
  const link = { customerId, grantedBy: session.audit.who, tokenHash };
  const change = { action: 'portal.link', target: customerId, after: {} };
  const { secret: code, record } = await codes.make(session, link, change);
  return { customer: customerId, code, expiresAt: record.expiresAt };
}

/** @returns undefined for what has ended, and if its customer was removed, or the API token that has made its link */
async function findValid(session: ReadingSession, secrets: typeof codes, secret: string) {
  const found = await secrets.find(session, secret);
  if (found === undefined) return undefined;
  const { customerId, tokenHash } = found;
  if (tokenHash !== undefined && (await findValidToken(session, tokenHash)) === undefined) return undefined;
  return (await session.redis.exists(redisKeys.customer(customerId))) === 1 ? found : undefined;
}

/** Finds whom a code is for, without using it up. */
export const findPortalCode = (session: ReadingSession, code: string) => findValid(session, codes, code);

/** Finds the session of a token. */
export const findPortalSession = (session: ReadingSession, token: string) =>
  findValid(session, sessions, token);

/**
 * Exchanges a code for a session, in place of those that the browser has.
 * @returns undefined if it was used before, has expired or never existed
 */
export async function beginPortalSession(
  { redis, now }: ReadingSession,
  code: string,
  replaced: readonly SignedIn<PortalSession>[],
): Promise<SignedIn<PortalSession> | undefined> {
  const found = await findPortalCode({ redis, now }, code);
  if (found === undefined || !(await codes.useUp({ redis }, code))) return undefined;
  const { customerId, grantedBy } = found;
  const audit = createAuditLog({ redis, who: portalPerson(customerId) });
  const change = { action: 'portal.sign_in', target: customerId, after: { grantedBy } };
  const { secret: token, record: session } = await sessions.make({ redis, audit, now }, found, change);
  for (const old of replaced) await endPortalSession({ redis }, old);
  return { token, session };
}

export async function endPortalSession(
  { redis }: Pick<Session, 'redis'>,
  { token, session: { customerId, grantedBy } }: SignedIn<PortalSession>,
): Promise<void> {
  const audit = createAuditLog({ redis, who: portalPerson(customerId) });
  await audit({ action: 'portal.end', target: customerId, before: { grantedBy }, after: null });
  await sessions.useUp({ redis }, token);
}
