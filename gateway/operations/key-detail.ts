import { z } from 'zod';
import type { ApiKeyRecord } from '../api-keys/api-key-record.ts';
import { forAll, withoutWindows } from '../limits/windows.ts';
import { banPolicySetting, strikesBeforeBan } from '../quota/ban-policy.ts';
import { keyUseSchema, readKeyUse } from '../quota/key-use.ts';
import { findBan } from './bans.ts';
import { ignoreInvalid } from './invalid-operation.ts';
import { keyStates, keyViewSchema, limitsView, recordView, type KeyView } from './key-view.ts';
import { readKeyWindows, windowViewsSchema, type KeyWindows } from './key-windows.ts';
import { createLimitsReader, knownLimitsIn, limitsInForceSchema } from './limits-in-force.ts';
import { nextRequest, nextRequestSchema, refusedForGood, type NextRequest } from './next-request.ts';
import type { Session } from './session.ts';
import { showSetting } from './settings.ts';
import { showStoredKey } from './stored-keys.ts';

/** All that operators see of one key. */
export const keyDetailSchema = keyViewSchema
  .omit(forAll((): true => true))
  .extend({
    state: z.enum([...keyStates, 'banned']),
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
    ignoreInvalid(showSetting(session, banPolicySetting)),
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
