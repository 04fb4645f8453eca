import { z } from 'zod';
import { apiKeyState, type ApiKeyRecord, type OwnFields } from '../../keys/api-key-record.ts';
import type { Limits } from '../../limits/limits.ts';
import { forAll, withoutWindows, type ByWindow, type WindowName } from '../../limits/windows.ts';
import type { KeyPlace } from '../../platform/redis/redis-keys.ts';
import { banPolicySetting, strikesBeforeBan } from '../../quota/ban-policy.ts';
import { keyUseSchema, readKeyUse } from '../../quota/key-use.ts';
import { findBan } from '../bans/bans.ts';
import { readSetting } from '../plans/settings.ts';
import type { ReadingSession, Session } from '../session.ts';
import { readKeyWindows, windowViewsSchema, type KeyWindows } from './key-windows.ts';
import { createLimitsReader, knownLimitsIn, limitsInForceSchema } from './limits-in-force.ts';
import { nextRequest, nextRequestSchema, refusedForGood, type NextRequest } from './next-request.ts';
import { showStoredKey, type PlacedKey } from './stored-keys.ts';

export const keyStates = ['valid', 'suspended', 'expired', 'revoked'] as const;
/** `banned` is for valid keys. It is not in the record. */
export const listedStates = [...keyStates, 'banned'] as const;

/** Own limits as JSON shows them: null for a window without one. */
export function limitsView(limits: Limits): Record<WindowName, number | null> {
  return forAll((name) => limits[name] ?? null);
}

const textOrNull = z.string().nullable();

/** A key as operators see it. Every field is present, with null for what a key does not have. */
export const keyViewSchema = z.object({
  id: z.string(),
  customerId: z.string().describe('Its customer, whose plan and limits these are'),
  plan: z.string(),
  name: z.string(),
  hint: z.string().describe('First characters of the key'),
  ...forAll(() => z.int().nullable().describe('Own limit; null for that of the plan')),
  state: z.enum(keyStates),
  createdAt: z.string(),
  expiresAt: textOrNull,
  scopes: z.array(z.string()).nullable().describe('Scopes of the operations that it may call; null for all'),
  revokedAt: textOrNull,
  replaces: textOrNull.describe('Id of the key that this one replaces'),
  replacedBy: textOrNull,
  rev: z.int().describe('Raised by every change'),
} satisfies Record<keyof OwnFields, z.ZodType> & Record<string, z.ZodType>);

export type KeyView = z.infer<typeof keyViewSchema>;

export function recordView(record: ApiKeyRecord, nowMs: number): KeyView {
  const { id, customerId, plan, name, hint, createdAt, scopes, rev } = record;
  return {
    id,
    customerId,
    plan,
    name,
    hint,
    ...limitsView(record),
    state: apiKeyState(record, nowMs),
    createdAt,
    expiresAt: record.expiresAt ?? null,
    scopes: scopes === undefined ? null : [...scopes],
    revokedAt: record.revokedAt ?? null,
    replaces: record.replaces ?? null,
    replacedBy: record.replacedBy ?? null,
    rev,
  };
}

/** A key in a list, with its use now. */
export const keyRowSchema = keyViewSchema
  .extend({
    state: z.enum(listedStates),
    usedToday: z.int().describe('Requests served today'),
    dayLimit: z.int().nullable().describe('Limit of the day in force; null if there is none'),
    bannedUntil: z.iso.datetime().nullable(),
    lastUsedAt: z.iso.datetime().nullable().describe('Null if it was not used, as far as that is kept'),
  })
  .meta({ id: 'KeyRow' });

export type KeyRow = z.infer<typeof keyRowSchema>;

/** Use of a key now, and what lists say of it. Costs two Redis commands. @param limits null for one that is not known */
export async function readKeyNow(
  session: ReadingSession,
  place: KeyPlace,
  { state }: KeyView,
  limits: ByWindow<number | null> = {},
) {
  const [{ windows, banMs, nowMs }, use] = await Promise.all([
    readKeyWindows(session.redis, place, limits),
    readKeyUse(session, place),
  ]);
  const isBanned = banMs > 0;
  const shown = {
    state: state === 'valid' && isBanned ? ('banned' as const) : state,
    bannedUntil: isBanned ? new Date(nowMs + banMs).toISOString() : null,
    lastUsedAt: use?.lastUsedAt ?? null,
  };
  return { windows, use, shown };
}

/** Creates a reader of rows that reads each plan once. */
export function createKeyRows(session: Session): (key: PlacedKey) => Promise<KeyRow> {
  const limitsOf = createLimitsReader(session);
  return async function keyRow({ record, place }) {
    const view = recordView(record, session.now());
    const { day } = await limitsOf(record);
    const dayLimit = day?.limit ?? null;
    const { windows, shown } = await readKeyNow(session, place, view, { day: dayLimit });
    return { ...view, ...shown, usedToday: windows.day?.used ?? 0, dayLimit };
  };
}

/** All that operators see of one key. */
export const keyDetailSchema = keyViewSchema
  .omit(forAll((): true => true))
  .extend({
    state: z.enum(listedStates),
    own: z.object(forAll(() => z.int().nullable())).describe('Limits of its own; null for those of its plan'),
    limits: limitsInForceSchema,
    windows: windowViewsSchema,
    strikes: z.int().describe('Refused requests that count towards a ban now'),
    strikesToBan: z.int().nullable().describe('Null if the ban policy is invalid'),
    ban: z
      .object({
        reason: z.string(),
        endsAt: z.iso.datetime().nullable().describe('Null for a ban without an end, which was set by hand'),
      })
      .nullable(),
    use: keyUseSchema.nullable().describe('Null if it was not used, as far as that is kept'),
    next: nextRequestSchema,
    now: z.iso.datetime().describe('When this was read'),
  })
  .meta({ id: 'Key', description: 'One API key' });

export type KeyDetail = z.infer<typeof keyDetailSchema>;
export type BanView = NonNullable<KeyDetail['ban']>;

/**
 * Reads a key with its use now.
 * @throws UnknownKey if there is no such key; InvalidOperation for an API key
 */
export async function readKeyDetail(session: Session, id: string): Promise<KeyDetail> {
  const { redis } = session;
  const { place, record } = await showStoredKey(redis, id);
  const [limits, policy] = await Promise.all([
    createLimitsReader(session)(record),
    readSetting(redis, banPolicySetting),
  ]);
  const use = await readKeyWindows(redis, place, knownLimitsIn(limits), policy);
  const [ban = null, keyUse] = await Promise.all([findBan(session, place), readKeyUse(session, place)]);
  const view = recordView(record, use.nowMs);
  return {
    ...withoutWindows(view),
    state: view.state === 'valid' && ban !== null ? 'banned' : view.state,
    own: limitsView(record),
    limits,
    windows: use.windows,
    strikes: use.strikes,
    strikesToBan: strikesBeforeBan(policy, limits.minute?.limit),
    ban,
    use: keyUse,
    next: nextOf(view.state, { record, use, ban }),
    now: new Date(use.nowMs).toISOString(),
  };
}

function nextOf(
  state: KeyView['state'],
  { record, use, ban }: { record: ApiKeyRecord; use: KeyWindows; ban: BanView | null },
): NextRequest {
  if (state === 'revoked') return refusedForGood(state, record.revokedAt);
  if (state === 'expired') return refusedForGood(state, record.expiresAt);
  if (state === 'suspended') return refusedForGood(state, record.suspendedAt);
  return nextRequest({ ban, windows: use.windows });
}
