import type { Session } from '../../gateway/operations/session.ts';
import { readLastDays } from '../../gateway/operations/usage-record.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import type { IssuedKey } from '../support/kits/keys.ts';
import type { Interval, Use } from './history.ts';

/*
 * All that depends on how quotas are stored: those of a customer, under its id.
 */

/** Whose quota a key uses. */
export const ownerOf = ({ customerId }: IssuedKey): string => customerId;

/** Opens a minute as if some requests had been served in it. @returns the interval in which it ends */
export async function openMinute(
  { redis }: Pick<Session, 'redis'>,
  { customerId }: IssuedKey,
  { used, leftMs }: { used: number; leftMs: number },
): Promise<Interval> {
  const startMs = Date.now() + leftMs;
  await redis.set(redisKeys.openWindow(customerId, 'minute'), used, 'PX', leftMs);
  return { startMs, endMs: Date.now() + 1 + leftMs };
}

/** Use of today and yesterday, because a run may begin before midnight. */
export async function readUse(session: Session, { customerId }: IssuedKey): Promise<Use> {
  const days = await readLastDays(session, customerId, 2);
  const sum = (field: keyof Use) => days.reduce((total, day) => total + day[field], 0);
  return { served: sum('served'), refused: sum('refused') };
}
