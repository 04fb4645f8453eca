import { z } from 'zod';
import type { ApiKeyRecord } from '../api-keys/api-key-record.ts';
import { windowFields } from '../limits/window-fields.ts';
import { forAll, withoutWindows } from '../limits/windows.ts';
import { banPolicySetting, strikesBeforeBan } from '../quota/ban-policy.ts';
import { keyUseSchema, readKeyUse } from '../quota/key-use.ts';
import type { KeyPlace } from '../redis/redis-keys.ts';
import { placeOf } from './api-key-index.ts';
import { banOriginSchema, readBanOrigin } from './ban-origin.ts';
import { findBan } from './bans.ts';
import { ignoreInvalid, UnknownKey } from './invalid-operation.ts';
import { keyStates, keyView, keyViewSchema, limitsView, recordView, type KeyView } from './key-view.ts';
import { readKeyWindows, windowViewsSchema, type KeyWindows } from './key-windows.ts';
import { createLimitsReader, knownLimitsIn, limitsInForceSchema } from './limits-in-force.ts';
import { nextRequest, nextRequestSchema, refusedForGood, type NextRequest } from './next-request.ts';
import type { Session } from './session.ts';
import { showSetting } from './settings.ts';
import { readStoredKey } from './stored-keys.ts';

/** All that operators see of one key. */
export const keyDetailSchema = keyViewSchema
  .omit(forAll((): true => true))
  .extend({
    state: z.enum([...keyStates, 'banned']),
    issues: z.array(z.string()).describe('What is wrong with its record'),
    own: z
      .object(windowFields(() => z.int().nullable()))
      .describe('Limits of its own; null for those of its plan'),
    limits: limitsInForceSchema.nullable(),
    windows: windowViewsSchema.nullable(),
    strikes: z.int().nullable().describe('Refused requests that count towards a ban now'),
    strikesToBan: z.int().nullable().describe('Null also if the ban policy is invalid'),
    ban: z
      .object({
        reason: z.string(),
        until: z.string().describe('Empty for a ban without an end, which was set by hand'),
        ...banOriginSchema.shape,
      })
      .nullable(),
    use: keyUseSchema.nullable().describe('Null if it was not used, as far as that is kept'),
    next: nextRequestSchema,
    now: z.iso.datetime().describe('When this was read'),
  })
  .meta({
    id: 'Key',
    description: 'One API key. Without a valid record, most fields are null or empty, and `issues` says why.',
  });

export type KeyDetail = z.infer<typeof keyDetailSchema>;
export type BanView = NonNullable<KeyDetail['ban']>;

/**
 * Reads a key with its use now.
 * @throws InvalidOperation if no index has the id, and for an API key
 */
export async function readKeyDetail(session: Session, id: string): Promise<KeyDetail> {
  const { redis, now } = session;
  const place = await placeOf(redis, id);
  const key = place && (await readStoredKey(redis, id, place))?.key;
  if (key === undefined || place === undefined) throw new UnknownKey(id);
  if (key.outcome === 'invalid') {
    const state = key.revoked ? 'revoked' : 'unusable';
    return withoutRecord(id, { state, issues: key.issues, nowMs: now() });
  }
  return describeRecord(session, { place, record: key.record });
}

function withoutRecord(
  id: string,
  options: { state: 'unusable' | 'revoked'; issues: string[]; nowMs: number },
): KeyDetail {
  const { state, issues, nowMs } = options;
  const view = keyView({ outcome: 'invalid', id, issues, revoked: state === 'revoked', where: '' }, nowMs);
  return {
    ...withoutWindows(view),
    name: '',
    state,
    issues,
    own: limitsView({}),
    limits: null,
    windows: null,
    strikes: null,
    strikesToBan: null,
    ban: null,
    use: null,
    next: refusedForGood(state, { issues }),
    now: new Date(nowMs).toISOString(),
  };
}

async function describeRecord(
  session: Session,
  { place, record }: { place: KeyPlace; record: ApiKeyRecord },
): Promise<KeyDetail> {
  const { redis } = session;
  const [limits, policy] = await Promise.all([
    createLimitsReader(session)(record),
    ignoreInvalid(showSetting(session, banPolicySetting)),
  ]);
  const use = await readKeyWindows(redis, place, knownLimitsIn(limits), policy);
  const [ban, keyUse] = await Promise.all([readBan(session, { place, record }), readKeyUse(session, place)]);
  const view = recordView(record, use.nowMs);
  return {
    ...withoutWindows(view),
    state: view.state === 'valid' && ban !== null ? 'banned' : view.state,
    issues: [],
    own: limitsView(record),
    limits,
    windows: use.windows,
    strikes: use.strikes,
    strikesToBan: strikesBeforeBan(policy, limits.minute.limit),
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
  if (state === 'revoked') return refusedForGood(state, { since: record.revokedAt ?? null });
  if (state === 'expired') return refusedForGood(state, { since: record.expiresAt ?? null });
  if (state === 'suspended') return refusedForGood(state, { since: record.suspendedAt ?? null });
  return nextRequest({ ban, windows: use.windows });
}

async function readBan(
  session: Session,
  { place, record }: { place: KeyPlace; record: ApiKeyRecord },
): Promise<BanView | null> {
  const found = await findBan(session, place);
  if (found === undefined) return null;
  const { reason, endsAt } = found;
  const origin = await readBanOrigin(session.redis, { id: record.id, place, endsAt });
  return { reason, until: endsAt, ...origin };
}
