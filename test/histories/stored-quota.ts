import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '../../gateway/control/session.ts';
import { readLastDays } from '../../gateway/control/usage/usage-record.ts';
import { readEnforcedSettings, type ProcessSettings } from '../../gateway/platform/redis/process-statuses.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import type { IssuedKey } from '../support/kits/keys.ts';
import type { History, Interval, Use } from './history.ts';

/*
 * All that depends on how quotas are stored: those of a customer, under its id.
 */

const pollMs = 100;

/** Resolves when something is reached, or when the time is over. */
export async function waitUntil(isReached: () => Promise<boolean>, longestMs: number): Promise<void> {
  const deadlineMs = Date.now() + longestMs;
  while (!(await isReached()) && Date.now() < deadlineMs) await sleep(pollMs);
}

/** Whose quota a key uses. */
export const ownerOf = ({ customerId }: IssuedKey): string => customerId;

/** A process that was not seen for longer has ended. */
const seenMs = 2000;

/** Whether all gateways have read the settings of a schedule. They read a plan with its first customer. */
export async function isEnforced(
  redis: Session['redis'],
  gateways: number,
  { policy, plans }: Pick<History, 'policy' | 'plans'>,
): Promise<boolean> {
  const has = (hash: Record<string, string> | undefined, wanted: object) =>
    Object.entries(wanted).every(([field, value]) => hash?.[field] === String(value));
  const enforced = await readEnforcedSettings(redis, seenMs);
  const obeys = ({ known }: ProcessSettings) =>
    has(known[redisKeys.banPolicy], policy) &&
    Object.entries(plans).every(([name, limits]) => {
      const plan = known[redisKeys.plan(name)];
      return plan === undefined || has(plan, limits);
    });
  return enforced.length >= gateways && enforced.every(obeys);
}

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
