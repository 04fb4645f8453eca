import { GatewayError } from '../errors.ts';
import type { Caller } from '../keys/api-key-cache.ts';
import type { Limits } from '../limits/limits.ts';
import {
  firstWindow,
  mapWindows,
  refusingWindow,
  windowOf,
  type ByWindow,
  type WindowName,
  type WindowStates,
} from '../limits/windows.ts';
import type { Plans } from './plans.ts';

/** Decision on one request. Times come from the clock that decided: Redis', or this process' during an outage. */
export type QuotaDecision =
  | CurrentDecision
  /** The caller's record has changed since it was read. Nothing was counted. */
  | { outcome: 'stale' };

/** A decision that was made with the caller's record as it is in Redis. */
export type CurrentDecision = Allowed | Limited | Ban;

/** Called for each request of a caller once it is decided on. @param cost units that it costs if it is allowed */
export type DecisionListener = (caller: Caller, decision: CurrentDecision, cost: number) => void;

export interface Allowed {
  outcome: 'allowed';
  windows: WindowStates;
  nowMs: number;
  /** Set if it was made without Redis. */
  isLocal?: true;
}

export interface Limited {
  outcome: 'limited';
  violated: WindowName;
  windows: WindowStates;
  nowMs: number;
  /** Further refused requests that lead to a ban, if they are being counted. */
  strikesLeft?: number | undefined;
  isLocal?: true;
}

export interface Ban {
  outcome: 'banned';
  limits: Limits;
  remainingMs: number;
  nowMs: number;
  /** Whether this very request led to the ban. */
  isNew: boolean;
  /** Reason that an operator gave. */
  reason?: string | undefined;
  /** End of a ban by a gateway as it was set, in Unix ms: the same in every reply. */
  setEndMs?: number;
}

/** Units counted in a window, and milliseconds to its end. */
export interface WindowUse {
  used: number;
  leftMs: number;
}

/** What was counted, by Redis or by this process. */
interface Counted {
  /** What the request costs, if that is not 1. */
  units?: number;
  uses: ByWindow<WindowUse>;
  nowMs: number;
  /** As in Limited. */
  strikesLeft?: number | undefined;
}

/** State of each window with a limit. */
export function windowStates(limits: Limits, uses: ByWindow<WindowUse>): WindowStates {
  return mapWindows(limits, (limit, name) => {
    const { used, leftMs } = uses[name] ?? { used: 0, leftMs: 0 };
    const { lengthMs = Infinity } = windowOf(name);
    return { limit, remaining: Math.max(0, limit - used), resetMs: Math.min(leftMs, lengthMs) };
  });
}

/** The decision that follows from the use of the windows. */
export function decisionOf(
  allowed: boolean,
  limits: Limits,
  { units, uses, nowMs, strikesLeft }: Counted,
): Allowed | Limited {
  const states = windowStates(limits, uses);
  if (allowed) return { outcome: 'allowed', windows: states, nowMs };
  return {
    outcome: 'limited',
    violated: refusingWindow(states, units) ?? firstWindow(states).name,
    windows: states,
    nowMs,
    strikesLeft,
  };
}

/** @throws GatewayError service_unavailable if no limit is known for the caller's plan */
export function knownLimits(plans: Plans, caller: Caller): Limits {
  const limits = plans.limitsOf(caller);
  if (limits !== undefined) return limits;
  throw new GatewayError('service_unavailable', {
    message: 'The limits of this API key are not set up. Please contact the operator.',
    cause: `no limits known for key ${caller.id} on plan ${caller.plan}`,
  });
}
