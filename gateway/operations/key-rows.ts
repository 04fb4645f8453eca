import { z } from 'zod';
import type { ByWindow } from '../limits/windows.ts';
import { readKeyUse } from '../quota/key-use.ts';
import type { KeyPlace } from '../redis/redis-keys.ts';
import { keyStates, keyViewSchema, recordView, type KeyView } from './key-view.ts';
import { readKeyWindows } from './key-windows.ts';
import { createLimitsReader } from './limits-in-force.ts';
import type { ReadingSession, Session } from './session.ts';
import type { PlacedKey } from './stored-keys.ts';

/** A key in a list, with its use now. */
export const keyRowSchema = keyViewSchema
  .extend({
    state: z.enum([...keyStates, 'banned']),
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
