import { z } from 'zod';
import { apiKeyState, type ApiKeyRecord, type OwnFields } from '../../keys/records.ts';
import { keyFields } from '../../limits/record-fields.ts';
import { banPolicySetting, strikesBeforeBan } from '../../quota/policies.ts';
import { keyUseSchema, readKeyUse } from '../../quota/use-counts.ts';
import { findBan } from '../bans/bans.ts';
import { knownLimitsIn, readLimits, readWindows, windowViewsSchema } from '../customers/customer-limits.ts';
import { readSetting } from '../plans/settings.ts';
import { fieldViews, viewOf } from '../records.ts';
import type { ReadingSession, Session } from '../session.ts';
import { showStoredKey, type PlacedKey } from './stored-keys.ts';

/** `banned` is for keys that are valid otherwise. It is not in the record. */
export const keyStates = ['active', 'suspended', 'expired', 'revoked', 'banned'] as const;

const textOrNull = z.string().nullable();

/** What a key has in its record. Every field is present, with null for what a key does not have. */
export const keyViewSchema = z.object({
  id: z.string(),
  customerId: z.string().describe('Its customer, which has limits and what is used of them'),
  plan: z.string().describe('That of its customer'),
  name: z.string(),
  hint: z.string().describe('First characters of the key'),
  state: z.enum(keyStates),
  createdAt: z.string(),
  ...fieldViews(keyFields),
  revokedAt: textOrNull,
  replaces: textOrNull.describe('Id of the key that this one replaces'),
  replacedBy: textOrNull,
  rev: z.int().describe('Raised by every change of the key, its customer, or another of its keys'),
} satisfies Record<keyof OwnFields, z.ZodType> & Record<string, z.ZodType>);

export type KeyView = z.infer<typeof keyViewSchema>;

export const recordView = (record: ApiKeyRecord, nowMs: number): KeyView =>
  viewOf(keyViewSchema, { ...record, state: apiKeyState(record, nowMs) });

/** A key in a list, with its ban and its use. */
export const keyRowSchema = keyViewSchema
  .extend({
    bannedUntil: z.iso.datetime().nullable(),
    lastUsedAt: z.iso.datetime().nullable().describe('Null if it was not used, as far as that is kept'),
    ...keyUseSchema.pick({ servedToday: true, refusedToday: true }).shape,
  })
  .meta({ id: 'KeyRow' });

export type KeyRow = z.infer<typeof keyRowSchema>;

/** Costs two Redis commands. */
export async function readKeyRow(session: ReadingSession, key: PlacedKey): Promise<KeyRow> {
  return (await readRow(session, key)).row;
}

async function readRow(session: ReadingSession, { place, record }: PlacedKey) {
  const [ban = null, use] = await Promise.all([findBan(session, place), readKeyUse(session, place)]);
  const state = apiKeyState(record, session.now());
  const row = viewOf(keyRowSchema, {
    ...record,
    ...(use ?? neverUsed),
    state: state === 'active' && ban !== null ? 'banned' : state,
    bannedUntil: ban?.endsAt,
  });
  return { row, ban };
}

const neverUsed = { servedToday: 0, refusedToday: 0 };

/** All that people see of one key. */
export const keyDetailSchema = keyRowSchema
  .extend({
    windows: windowViewsSchema.describe('What its customer uses of its limits'),
    strikes: z.int().describe('Refused requests that count towards a ban now'),
    strikesToBan: z.int().nullable().describe('Null if the ban policy is invalid'),
    ban: z.object({ reason: z.string(), endsAt: z.iso.datetime() }).nullable(),
    now: z.iso.datetime().describe('When this was read'),
  })
  .meta({ id: 'Key', description: 'One API key' });

export type KeyDetail = z.infer<typeof keyDetailSchema>;

/**
 * Reads a key with its use now.
 * @throws UnknownKey if there is no such key; InvalidOperation for an API key
 */
export async function readKeyDetail(session: Session, id: string): Promise<KeyDetail> {
  const { redis } = session;
  const key = await showStoredKey(redis, id);
  const { place, record } = key;
  const [{ row, ban }, limits, policy] = await Promise.all([
    readRow(session, key),
    readLimits(redis, record),
    readSetting(redis, banPolicySetting),
  ]);
  const { windows, strikes, nowMs } = await readWindows(redis, place, knownLimitsIn(limits), policy);
  return {
    ...row,
    windows,
    strikes,
    strikesToBan: strikesBeforeBan(policy, limits.minute?.limit),
    ban,
    now: new Date(nowMs).toISOString(),
  };
}
