import { z } from 'zod';
import { describeIssues } from '../config/describe-issues.ts';
import { scopePattern } from '../limits/access.ts';
import { limitText } from '../limits/limits.ts';
import { formatTemporary, parseTemporary, type OwnLimits } from '../limits/temporary-limits.ts';
import { forAll, windowNames } from '../limits/windows.ts';
import { formatTrial, parseTrial, type Trial } from '../plans/trial.ts';

/**
 * Record of an API key in Redis, in the hash gw:key:{<key hash>}. Times are ISO 8601 in UTC. Its own limits, in place of the
 * plan's, are in the fields `minute`, `day` and so on;
 * those that end by themselves in the fields of formatTemporary.
 */
export interface ApiKeyRecord extends OwnLimits {
  id: string;
  name: string;
  plan: string;
  /** First characters of the key, for people. */
  hint: string;
  createdAt: string;
  expiresAt?: string | undefined;
  /** Scopes of the operations that it may call; undefined for all. */
  scopes?: readonly string[] | undefined;
  /** Own limits on trial, in the fields of formatTrial. Goes before the plan's trial. */
  trial?: Trial | undefined;
  revokedAt?: string | undefined;
  /** Id of the key that this one replaces. */
  replaces?: string | undefined;
  /** Id of the key that replaces this one. */
  replacedBy?: string | undefined;
  /** Target of the audit entry of the bulk issue that this key belongs to. */
  batch?: string | undefined;
  /** Raised with every change: an instance whose cached copy has another number reads the record again. */
  rev: number;
}

/** Time at which a key expires, as text. */
export const expiryText = z.union([z.iso.datetime({ offset: true }), z.iso.date()], {
  error: 'is not an ISO 8601 time',
});

/** Scopes as text, separated by spaces as in RFC 6749 section 3.3. */
const scopesText = z
  .string()
  .min(1, 'is empty')
  .transform((text) => text.split(' '))
  .refine((scopes) => scopes.every((scope) => scopePattern.test(scope)), 'is not scopes separated by spaces');

const nonEmptyString = z.string({ error: 'is missing' }).min(1, 'is missing');

const recordSchema = z.object({
  id: nonEmptyString,
  name: z.string().default(''),
  plan: nonEmptyString,
  hint: z.string().default(''),
  createdAt: z.string().default(''),
  expiresAt: expiryText.optional(),
  scopes: scopesText.optional(),
  ...forAll(() => limitText.optional()),
  /** Any text counts: a key that somebody meant to revoke stays revoked. */
  revokedAt: z.string().min(1).optional(),
  replaces: z.string().optional(),
  replacedBy: z.string().optional(),
  batch: z.string().optional(),
  rev: z
    .string()
    .regex(/^\d{1,15}$/, 'is not a whole number')
    .default('0')
    .transform(Number),
});

export type ParsedRecord =
  | {
      outcome: 'record';
      record: ApiKeyRecord;
      /** What is wrong with its trial or its temporary limits, which are then off. The record is valid all the same. */
      issues?: string[];
    }
  | { outcome: 'absent' }
  /** The hash was edited by hand into something that is not a record. */
  | { outcome: 'invalid'; issues: string[]; revoked: boolean };

/** Parses the fields of a record as HGETALL returns them. Never throws: the hash may have been edited by hand. */
export function parseApiKeyRecord(fields: Record<string, string>): ParsedRecord {
  if (Object.keys(fields).length === 0) return { outcome: 'absent' };
  const parsed = recordSchema.safeParse(fields);
  if (parsed.success) {
    const { trial, issues } = parseTrial(fields);
    const { temporary, issues: ofTemporary } = parseTemporary(fields);
    const record = { ...parsed.data, ...(trial && { trial }), ...(temporary && { temporary }) };
    const all = [...issues, ...ofTemporary];
    return { outcome: 'record', record, ...(all.length > 0 ? { issues: all } : {}) };
  }
  return {
    outcome: 'invalid',
    revoked: (fields['revokedAt'] ?? '') !== '',
    issues: describeIssues(parsed.error),
  };
}

export type ApiKeyState = 'valid' | 'expired' | 'revoked';

/** @param nowMs milliseconds since the Unix epoch */
export function apiKeyState(
  { revokedAt, expiresAt }: Pick<ApiKeyRecord, 'revokedAt' | 'expiresAt'>,
  nowMs: number,
): ApiKeyState {
  if (revokedAt !== undefined) return 'revoked';
  if (expiresAt !== undefined && Date.parse(expiresAt) <= nowMs) return 'expired';
  return 'valid';
}

/**
 * Formats the record as pairs of field and value for change-record-1.lua, for which an empty value removes a field.
 * Without `rev`, which the script sets.
 */
export function formatApiKeyRecord(record: ApiKeyRecord): string[] {
  const { id, name, plan, hint, createdAt, expiresAt = '', revokedAt = '' } = record;
  const { scopes = [], replaces = '', replacedBy = '', batch = '', trial, temporary } = record;
  const fields = {
    id,
    name,
    plan,
    hint,
    createdAt,
    expiresAt,
    scopes: scopes.join(' '),
    ...Object.fromEntries(windowNames.map((window) => [window, String(record[window] ?? '')])),
    ...formatTrial(trial),
    ...formatTemporary(temporary),
    revokedAt,
    replaces,
    replacedBy,
    batch,
  };
  return Object.entries(fields).flat();
}

/** Revoked and expired records are kept this long, so that clients learn which of the two applies. */
export const keptSeconds = 90 * 86_400;

/** @returns Unix seconds at which Redis may delete the record, or '' if it is kept for good */
export function recordExpiry({ expiresAt, revokedAt }: Partial<ApiKeyRecord>): number | '' {
  const ends = [expiresAt, revokedAt].flatMap((time) => (time === undefined ? [] : [Date.parse(time)]));
  const known = ends.filter((end) => Number.isFinite(end));
  return known.length === 0 ? '' : Math.ceil(Math.min(...known) / 1000) + keptSeconds;
}
