import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { dayMs } from '../../limits/windows.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { parseJson } from '../../platform/redis/redis-values.ts';
import type { Fields } from '../../platform/redis/settings.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import { changeHash } from '../overtaken-change.ts';
import type { ReadingSession, Session } from '../session.ts';
import type { ApiScope } from './api-scopes.ts';
import { generateSecret, hashSecret } from './expiring-secrets.ts';

export const apiTokenId = /^token_[\da-f]{12}$/;

export const apiTokenSchema = z.object({
  id: z.string().describe('For lists and the audit log; it gives no access'),
  name: z.string().nullable(),
  scopes: z.array(z.string()),
  createdBy: z.string(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
});

/** A token with which a program uses the operators' API. */
export type ApiToken = z.infer<typeof apiTokenSchema>;

export const listedApiTokenSchema = apiTokenSchema
  .extend({
    lastUsedAt: z.iso.datetime().nullable().describe('To the minute; null if it was not used yet'),
    state: z.enum(['active', 'expired']),
  })
  .meta({ id: 'ApiToken' });

export type ListedApiToken = z.infer<typeof listedApiTokenSchema>;

interface NewApiToken {
  name: string | null;
  scopes: readonly ApiScope[];
  expiresAt: Date;
}

/** The prefix lets scanners of repositories and logs find it. */
const tokenPrefix = 'ops_';
const tokenBits = 256;
const tokenPattern = /^ops_[\w-]{43}$/;
const maxLifetimeMs = 366 * dayMs;
const shownAfterExpiryMs = 30 * dayMs;
const touchMs = 60_000;

const tokensKey = redisKeys.apiTokens;
/** Field with the Unix milliseconds at which a token was last used. */
const seenField = (tokenHash: string) => `seen:${tokenHash}`;

/**
 * Issues a token, of which only the hash is stored. Those that expired a month ago are deleted.
 * @throws InvalidOperation if it would expire in the past, or in more than a year
 */
export async function issueApiToken(session: Session, { name, scopes, expiresAt }: NewApiToken) {
  const { audit, now } = session;
  const lifetimeMs = expiresAt.getTime() - now();
  if (lifetimeMs <= 0) throw new InvalidOperation(`${expiresAt.toISOString()} is in the past`);
  if (lifetimeMs > maxLifetimeMs) throw new InvalidOperation('a token lives for a year at most');
  const token = tokenPrefix + generateSecret(tokenBits);
  const record: ApiToken = {
    id: `token_${randomBytes(6).toString('hex')}`,
    name,
    scopes: [...scopes],
    createdBy: audit.who,
    createdAt: new Date(now()).toISOString(),
    expiresAt: expiresAt.toISOString(),
  };
  await changeHash(session, tokensKey, (stored) => {
    const old = Object.keys(stored).filter((field) => {
      const known = parseRecord(stored[field.replace(seenField(''), '')] ?? null);
      return known === undefined || expiryOf(known) < now() - shownAfterExpiryMs;
    });
    const fields = Object.fromEntries(old.map((field) => [field, '']));
    return {
      fields: { ...fields, [hashSecret(token)]: JSON.stringify(record) },
      entry: { action: 'api-tokens.issue', target: record.id, before: null, after: audited(record) },
    };
  });
  return { ...record, token };
}

/**
 * Finds what a token permits, and records that it is in use, at most once a minute.
 * @returns undefined if it was revoked, has expired or never existed
 */
export async function findApiToken(session: Session, token: string): Promise<ApiToken | undefined> {
  if (!tokenPattern.test(token)) return undefined;
  const tokenHash = hashSecret(token);
  const record = await findValidToken(session, tokenHash);
  if (record === undefined) return undefined;
  // Nothing depends on it, and it must not delay a request.
  void touch(session, tokenHash).catch(() => {});
  return record;
}

/** Finds a token that was not revoked and has not expired by its hash. */
export async function findValidToken({ redis, now }: ReadingSession, tokenHash: string) {
  const record = parseRecord(await redis.hget(tokensKey, tokenHash));
  return record !== undefined && expiryOf(record) > now() ? record : undefined;
}

async function touch({ redis, now }: Session, tokenHash: string): Promise<void> {
  if (now() - Number(await redis.hget(tokensKey, seenField(tokenHash))) < touchMs) return;
  await redis.hset(tokensKey, seenField(tokenHash), now());
}

/** Tokens that were not revoked, oldest first. */
export async function listApiTokens({ redis, now }: Session): Promise<ListedApiToken[]> {
  const stored = await redis.hgetall(tokensKey);
  const listed = parseRecords(stored).flatMap(({ tokenHash, record }): ListedApiToken[] => {
    if (record === undefined) return [];
    const state = expiryOf(record) > now() ? 'active' : 'expired';
    const seenMs = stored[seenField(tokenHash)];
    const lastUsedAt = seenMs === undefined ? null : new Date(Number(seenMs)).toISOString();
    return [{ ...record, lastUsedAt, state }];
  });
  return listed.toSorted((one, other) => one.createdAt.localeCompare(other.createdAt));
}

/** Refuses a token from its next request on. @throws InvalidOperation if there is no such token */
export async function revokeApiToken(session: Session, id: string): Promise<ApiToken> {
  const { record } = await changeHash(session, tokensKey, (stored) => {
    const { tokenHash = '', record } = parseRecords(stored).find((found) => found.record?.id === id) ?? {};
    if (record === undefined) throw new InvalidOperation(`there is no token ${id}: see ops api-tokens list`);
    return {
      record,
      fields: { [tokenHash]: '', [seenField(tokenHash)]: '' },
      entry: { action: 'api-tokens.revoke', target: id, before: audited(record), after: null },
    };
  });
  return record;
}

/** @returns undefined for a record that is invalid */
const parseRecord = (text: string | null) => apiTokenSchema.safeParse(parseJson(text ?? '')).data;

const parseRecords = (stored: Fields) =>
  Object.entries(stored).map(([tokenHash, text]) => ({ tokenHash, record: parseRecord(text) }));

const expiryOf = ({ expiresAt }: ApiToken) => Date.parse(expiresAt);

const audited = ({ name, scopes, expiresAt }: ApiToken) => ({ name, scopes, expiresAt });
