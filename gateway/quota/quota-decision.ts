import type { Limits } from '../plans/limits.ts';
import { dayMs } from './utc-day.ts';

/** State of one window after the decision. */
export interface WindowState {
  /** Requests that the window allows. */
  limit: number;
  /** Requests left in the window; never negative. */
  remaining: number;
  /** Milliseconds from the decision to the end of the window. */
  resetMs: number;
}

export type WindowName = 'minute' | 'day';

/** Decision on one request. Times come from the clock that decided: Redis', or this process' during an outage. */
export type QuotaDecision =
  | { outcome: 'allowed'; minute: WindowState; day: WindowState; nowMs: number }
  | {
      outcome: 'limited';
      violated: WindowName;
      minute: WindowState;
      day: WindowState;
      nowMs: number;
      /** Further refused requests that lead to a ban, if they are being counted. */
      strikesLeft?: number | undefined;
    }
  | Ban
  /** The caller's record has changed since it was read. Nothing was counted. */
  | { outcome: 'stale' };

/** A decision that was made with the caller's record as it is in Redis. */
export type CurrentDecision = Exclude<QuotaDecision, { outcome: 'stale' }>;

export interface Ban {
  outcome: 'banned';
  limits: Limits;
  remainingMs: number;
  nowMs: number;
  /** Whether this very request led to the ban. */
  isNew: boolean;
  /** Reason that an operator gave. */
  reason?: string | undefined;
}

const minuteMs = 60_000;

/** Use of both windows, whether Redis counted it or this process. */
export interface CountedUse {
  minuteUsed: number;
  minuteLeftMs: number;
  dayUsed: number;
  nowMs: number;
  /** As in QuotaDecision. */
  strikesLeft?: number | undefined;
}

/** State of both windows. The day ends at midnight UTC of `nowMs`. */
export function windowsOf(limits: Limits, use: CountedUse): { minute: WindowState; day: WindowState } {
  const minute = {
    limit: limits.minute,
    remaining: Math.max(0, limits.minute - use.minuteUsed),
    resetMs: Math.min(use.minuteLeftMs, minuteMs),
  };
  const day = {
    limit: limits.day,
    remaining: Math.max(0, limits.day - use.dayUsed),
    resetMs: dayMs - (use.nowMs % dayMs),
  };
  return { minute, day };
}

/** The decision that follows from the use of both windows. */
export function decisionOf(allowed: boolean, limits: Limits, use: CountedUse): QuotaDecision {
  const { minute, day } = windowsOf(limits, use);
  const { nowMs, strikesLeft } = use;
  if (allowed) return { outcome: 'allowed', minute, day, nowMs };
  return { outcome: 'limited', violated: violatedWindow(minute, day), minute, day, nowMs, strikesLeft };
}

/** If both windows are full, the one that ends later: a retry can succeed only then. */
function violatedWindow(minute: WindowState, day: WindowState): WindowName {
  if (day.remaining > 0) return 'minute';
  if (minute.remaining > 0) return 'day';
  return day.resetMs >= minute.resetMs ? 'day' : 'minute';
}
