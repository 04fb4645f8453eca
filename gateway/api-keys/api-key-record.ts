import { z } from 'zod';
import { faultsOf } from '../config/describe-issues.ts';
import { limitText } from '../plans/limits.ts';

/** What Redis holds of an API key, in the hash gw:key:{<sha256>}. Times are ISO 8601 in UTC. */
export interface ApiKeyRecord {
  id: string;
  name: string;
  plan: string;
  /** First characters of the key, for people. */
  hint: string;
  createdAt: string;
  expiresAt?: string | undefined;
  /** Own limit in requests a minute, in place of the plan's. */
  minute?: number | undefined;
  /** Own limit in requests a UTC day, in place of the plan's. */
  day?: number | undefined;
  revokedAt?: string | undefined;
  /** Id of the key that this one was made in place of. */
  replaces?: string | undefined;
  /** Id of the key that was made in place of this one. */
  replacedBy?: string | undefined;
  /** Raised on every change: an instance whose cached copy has another number reads the record again. */
  rev: number;
}

/** A time at which a key expires, as text. */
export const expiryText = z.union([z.iso.datetime({ offset: true }), z.iso.date()], {
  error: 'is not an ISO 8601 time',
});

const filled = z.string({ error: 'is missing' }).min(1, 'is missing');

const recordSchema = z.object({
  id: filled,
  name: z.string().default(''),
  plan: filled,
  hint: z.string().default(''),
  createdAt: z.string().default(''),
  expiresAt: expiryText.optional(),
  minute: limitText.optional(),
  day: limitText.optional(),
  /** Whatever it says: a key that somebody meant to revoke stays revoked. */
  revokedAt: z.string().min(1).optional(),
  replaces: z.string().optional(),
  replacedBy: z.string().optional(),
  rev: z
    .string()
    .regex(/^\d{1,15}$/, 'is not a whole number')
    .default('0')
    .transform(Number),
});

export type ParsedRecord =
  | { outcome: 'record'; record: ApiKeyRecord }
  | { outcome: 'absent' }
  /** Somebody edited the hash by hand and left something that can't be a record. */
  | { outcome: 'broken'; faults: string[]; revoked: boolean };

/** Reads the fields of a record as HGETALL returns them. Never throws: the hash may have been edited by hand. */
export function parseApiKeyRecord(fields: Record<string, string>): ParsedRecord {
  if (Object.keys(fields).length === 0) return { outcome: 'absent' };
  const parsed = recordSchema.safeParse(fields);
  if (parsed.success) return { outcome: 'record', record: parsed.data };
  return {
    outcome: 'broken',
    revoked: (fields['revokedAt'] ?? '') !== '',
    faults: faultsOf(parsed.error),
  };
}

export type ApiKeyState = 'valid' | 'expired' | 'revoked';

/** @param nowMs milliseconds since the Unix epoch. */
export function apiKeyState(record: ApiKeyRecord, nowMs: number): ApiKeyState {
  if (record.revokedAt !== undefined) return 'revoked';
  if (record.expiresAt !== undefined && Date.parse(record.expiresAt) <= nowMs) return 'expired';
  return 'valid';
}

/**
 * The record as pairs of field and value for change-record-1.lua, where an empty value removes a field. Without
 * `rev`, which is the script's own.
 */
export function formatApiKeyRecord(record: ApiKeyRecord): string[] {
  const { id, name, plan, hint, createdAt, expiresAt = '', minute = '', day = '', revokedAt = '' } = record;
  const { replaces = '', replacedBy = '' } = record;
  const fields = {
    id,
    name,
    plan,
    hint,
    createdAt,
    expiresAt,
    minute: String(minute),
    day: String(day),
    revokedAt,
    replaces,
    replacedBy,
  };
  return Object.entries(fields).flat();
}

/** Revoked and expired records stay this long, so that clients are told which of the two it was. */
export const keptSeconds = 90 * 86_400;

/** @returns Unix seconds at which the record may go, or '' where it stays for good. */
export function expiryOf({ expiresAt, revokedAt }: Partial<ApiKeyRecord>): number | '' {
  const ends = [expiresAt, revokedAt].flatMap((time) => (time === undefined ? [] : [Date.parse(time)]));
  const known = ends.filter((end) => Number.isFinite(end));
  return known.length === 0 ? '' : Math.ceil(Math.min(...known) / 1000) + keptSeconds;
}
