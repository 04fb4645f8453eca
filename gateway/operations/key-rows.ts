import { z } from 'zod';
import { readKeyUse } from '../quota/key-use.ts';
import type { KeyPlace } from '../redis/redis-keys.ts';
import { keyStates, keyView, keyViewSchema } from './key-view.ts';
import { readKeyWindows } from './key-windows.ts';
import { createLimitsReader, knownLimitsIn } from './limits-in-force.ts';
import type { Session } from './session.ts';
import type { StoredApiKey } from './stored-keys.ts';

/** A key in a list, with its use now. */
export const keyRowSchema = keyViewSchema
  .extend({
    state: z.enum([...keyStates, 'banned']).describe('`unusable`: the record was edited into an invalid one'),
    usedToday: z.int().describe('Requests served today'),
    dayLimit: z.int().nullable().describe('Limit of the day in force; null if it is not known'),
    bannedUntil: z.iso.datetime().nullable(),
    lastUsedAt: z.iso.datetime().nullable().describe('Null if it was not used, as far as that is kept'),
  })
  .meta({ id: 'KeyRow' });

export type KeyRow = z.infer<typeof keyRowSchema>;

/** Creates a reader of rows that reads each plan once. Each row costs two Redis commands. */
export function createKeyRows(
  session: Session,
): (key: StoredApiKey, place: KeyPlace | undefined) => Promise<KeyRow> {
  const limitsOf = createLimitsReader(session);
  return async function keyRow(key, place) {
    const view = keyView(key, session.now());
    if (key.outcome === 'invalid' || place === undefined) {
      return { ...view, usedToday: 0, dayLimit: null, bannedUntil: null, lastUsedAt: null };
    }
    const limits = await limitsOf(key.record);
    const [{ windows, banMs, nowMs }, use] = await Promise.all([
      readKeyWindows(session.redis, place, knownLimitsIn(limits)),
      readKeyUse(session.redis, place),
    ]);
    const isBanned = banMs > 0;
    return {
      ...view,
      state: view.state === 'valid' && isBanned ? 'banned' : view.state,
      usedToday: windows.day.used,
      dayLimit: windows.day.limit,
      bannedUntil: isBanned ? new Date(nowMs + banMs).toISOString() : null,
      lastUsedAt: use?.addresses[0]?.to ?? null,
    };
  };
}
