import { z } from 'zod';
import { apiKeyState, type ApiKeyRecord } from '../api-keys/api-key-record.ts';
import { doubtfulPairs } from '../limits/limits.ts';
import type { OwnLimits } from '../limits/temporary-limits.ts';
import { windowNames } from '../limits/windows.ts';
import { isCustomerId } from '../redis/redis-keys.ts';
import { findBan } from './bans.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { assertPermitted, changedLimited, type LimitedChange } from './key-limits.ts';
import { readKeyWindows } from './key-windows.ts';
import { showLimited } from './limited.ts';
import { createLimitsReader, knownLimitsIn, limitsInForceSchema } from './limits-in-force.ts';
import { nextRequest, nextRequestSchema, refusedForGood } from './next-request.ts';
import { findPastImpacts, pastImpactSchema, readPastUseOfKey } from './past-impact.ts';
import type { Session } from './session.ts';

/** Limits of a key, and what its next request gets with them. */
const limitsViewSchema = z
  .object({ plan: z.string(), limits: limitsInForceSchema, next: nextRequestSchema })
  .meta({ id: 'KeyLimitsView' });

export const keyEffectSchema = z.object({
  before: limitsViewSchema,
  after: limitsViewSchema,
  past: z
    .array(pastImpactSchema)
    .describe(
      'What the limits after the change would have done on the recorded days, for a day and for a month',
    ),
  doubts: z.array(z.string()).describe('What may be a mistake, in words'),
});

export type KeyEffect = z.infer<typeof keyEffectSchema>;

/**
 * Tells what other limits would do to the next request of a key, or of a customer. Changes nothing.
 * @throws InvalidOperation as the change itself would
 */
export async function readKeyEffect(session: Session, id: string, change: LimitedChange): Promise<KeyEffect> {
  const { redis, now } = session;
  const { place, record } = await showLimited(redis, id);
  if (record.revokedAt !== undefined) throw new InvalidOperation(`the key ${id} is revoked`);
  const edited = { ...changedLimited(record, change, now()), scopes: record.scopes };
  await assertPermitted(redis, edited);
  const state = apiKeyState(record, now());
  const limitsOf = createLimitsReader(session);
  const found = await findBan(session, place);
  const ban = found === undefined ? null : { until: found.endsAt, reason: found.reason };

  async function view(
    key: OwnLimits & Pick<ApiKeyRecord, 'plan'>,
  ): Promise<z.infer<typeof limitsViewSchema>> {
    const limits = await limitsOf(key);
    const { windows } = await readKeyWindows(redis, place, knownLimitsIn(limits));
    const since = (state === 'expired' ? record.expiresAt : record.suspendedAt) ?? null;
    const next = state === 'valid' ? nextRequest({ ban, windows }) : refusedForGood(state, { since });
    return { plan: key.plan, limits, next };
  }

  const [before, after] = await Promise.all([view(record), view(edited)]);
  const known = knownLimitsIn(after.limits);
  const use = await readPastUseOfKey(
    session,
    place.customerId,
    windowNames.filter((name) => known[name] !== undefined),
  );
  const past = await findPastImpacts(session, use, known);
  return {
    before,
    after,
    past,
    doubts: doubtfulPairs(isCustomerId(id) ? 'this customer' : 'this key', known),
  };
}
