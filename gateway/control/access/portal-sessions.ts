import { z } from 'zod';
import { createAuditLog } from '../../platform/redis/record-change.ts';
import { isCustomerId, redisKeys, type CustomerId } from '../../platform/redis/redis-keys.ts';
import { showCustomer } from '../customers/stored-customers.ts';
import type { ReadingSession, Session } from '../session.ts';
import { findValidToken } from './api-tokens.ts';
import { createSecrets, linkCode } from './expiring-secrets.ts';

/** A person whom an operator's own product has let into the portal of a customer. */
export interface PortalSession {
  customerId: CustomerId;
  /** Who has made the link. */
  grantedBy: string;
  /** ISO 8601 in UTC. */
  expiresAt: string;
}

export interface PortalCode {
  /** Id of the customer. */
  customer: CustomerId;
  /** Works once. It is not stored, only its hash is. */
  code: string;
  /** ISO 8601 in UTC. */
  expiresAt: string;
}

/** An hour: enough to look and to change a key. */
export const portalSessionMs = 3_600_000;

const schema = z.object({
  customerId: z.string().refine(isCustomerId),
  grantedBy: z.string(),
  /** Hash of the API token that has made the link; absent if a person has. */
  tokenHash: z.string().optional(),
  expiresAtMs: z.number(),
});

type Link = z.infer<typeof schema>;

const codes = createSecrets({ ...linkCode, keyOf: redisKeys.portalCode, schema });
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
export async function makePortalCode(
  session: Session,
  customer: string,
  tokenHash?: string,
): Promise<PortalCode> {
  const { id: customerId } = await showCustomer(session.redis, customer);
  const record = { customerId, grantedBy: session.audit.who, tokenHash };
  const change = { action: 'portal.link', target: customerId, after: {} } as const;
  const { secret: code, expiresAt } = await codes.make(session, record, change);
  return { customer: customerId, code, expiresAt };
}

/** Finds a link or a session. @returns undefined if it has ended, or the API token that has made it */
async function findLink(
  session: ReadingSession,
  secrets: typeof codes,
  secret: string,
): Promise<Link | undefined> {
  const found = await secrets.find(session, secret);
  if (found === undefined) return undefined;
  const { tokenHash } = found;
  const isValid = tokenHash === undefined || (await findValidToken(session, tokenHash)) !== undefined;
  return isValid ? found : undefined;
}

/**
 * Finds the customer of a code, without using it up.
 * @returns undefined as beginPortalSession does
 */
export async function findCodeCustomer(
  session: ReadingSession,
  code: string,
): Promise<CustomerId | undefined> {
  return (await findLink(session, codes, code))?.customerId;
}

/**
 * Exchanges a code for a session.
 * @returns undefined if it was used before, has expired or never existed
 */
export async function beginPortalSession(
  { redis, now }: ReadingSession,
  code: string,
): Promise<{ token: string; session: PortalSession } | undefined> {
  const found = await findLink({ redis, now }, codes, code);
  if (found === undefined || !(await codes.useUp({ redis }, code))) return undefined;
  const { customerId, grantedBy } = found;
  const audit = createAuditLog({ redis, who: portalPerson(customerId) });
  const change = { action: 'portal.sign_in', target: customerId, after: { grantedBy } } as const;
  const { secret: token, expiresAt } = await sessions.make({ redis, audit, now }, found, change);
  return { token, session: { customerId, grantedBy, expiresAt } };
}

/**
 * @returns undefined if the session of a token has ended, has expired, never existed, or if its customer was removed, or the API
 * token that has made its link
 */
export async function findPortalSession(
  session: ReadingSession,
  token: string,
): Promise<PortalSession | undefined> {
  const found = await findLink(session, sessions, token);
  if (found === undefined) return undefined;
  const { customerId, grantedBy, expiresAtMs } = found;
  if ((await session.redis.exists(redisKeys.customer(customerId))) === 0) return undefined;
  return { customerId, grantedBy, expiresAt: new Date(expiresAtMs).toISOString() };
}

/** Ends the session of a token. */
export async function endPortalSession({ redis, now }: ReadingSession, token: string): Promise<void> {
  const found = await findPortalSession({ redis, now }, token);
  if (found === undefined) return;
  const { customerId, grantedBy } = found;
  const audit = createAuditLog({ redis, who: portalPerson(customerId) });
  await audit({ action: 'portal.end', target: customerId, before: { grantedBy }, after: null });
  await sessions.useUp({ redis }, token);
}
