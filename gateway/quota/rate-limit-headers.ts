import type { Limits } from '../limits/limits.ts';
import {
  bindingState,
  firstWindow,
  mapWindows,
  windowLengthMs,
  windows,
  type ByWindow,
  type WindowName,
  type WindowState,
  type WindowStates,
} from '../limits/windows.ts';
import type { CurrentDecision } from './quota-decision.ts';
import type { Usage } from './usage.ts';

/** Header names and values, in the order in which they are sent. */
export type RateLimitHeaders = Record<string, string>;

/**
 * Headers of the specification, section 8.3, and of draft-ietf-httpapi-ratelimit-headers: X-RateLimit shows one window,
 * RateLimit all, or only the ban, since what the windows have left is not read during one. Times are whole seconds,
 * rounded up, so that waiting as long as they say always suffices.
 */
export function rateLimitHeaders(decision: CurrentDecision): RateLimitHeaders {
  const { nowMs } = decision;
  if (decision.outcome === 'banned') {
    const { limits, remainingMs } = decision;
    return { ...banHeaders(limits, remainingMs, nowMs), ...refusal('ban', remainingMs) };
  }
  if (decision.outcome === 'allowed') {
    return windowHeaders(bindingState(decision.windows), decision.windows, nowMs);
  }
  const violated = decision.windows[decision.violated] ?? bindingState(decision.windows);
  return {
    ...windowHeaders(violated, decision.windows, nowMs),
    ...refusal(decision.violated, violated.resetMs),
    ...(decision.strikesLeft ? { 'X-RateLimit-Ban-After': String(decision.strikesLeft) } : undefined),
  };
}

/** Headers of a response about usage. Nothing was refused. */
export function usageHeaders({ windows, banMs, nowMs }: Usage): RateLimitHeaders {
  if (banMs === 0) return rateLimitHeaders({ outcome: 'allowed', windows, nowMs });
  const limits = mapWindows(windows, ({ limit }) => limit);
  return banHeaders(limits, banMs, nowMs);
}

function banHeaders(limits: Limits, remainingMs: number, nowMs: number): RateLimitHeaders {
  const ban = { limit: firstWindow(limits).value, remaining: 0, resetMs: remainingMs };
  const policies = listed(limits, (name, limit) => windowPolicy(name, limit, nowMs));
  return {
    ...xRateLimit(ban, nowMs),
    'RateLimit-Policy': `${policies}, ${policy('ban', 0, wholeSeconds(remainingMs))}`,
    RateLimit: quotaLeft('ban', ban),
  };
}

/** Headers of a request without a valid key, which counts against its address. */
export function addressLimitHeaders(window: WindowState, nowMs: number): RateLimitHeaders {
  return singleWindowHeaders('ip', 60, window, nowMs);
}

/**
 * Headers of a 429 for too many connections of an address: whatever its limit of requests leaves, none is allowed now.
 * @param retryMs time after which a retry can succeed
 */
export function connectionLimitHeaders(
  window: WindowState,
  retryMs: number,
  nowMs: number,
): RateLimitHeaders {
  const shown = window.remaining === 0 ? window : { ...window, remaining: 0, resetMs: retryMs };
  return { ...addressLimitHeaders(shown, nowMs), 'X-RateLimit-Window': 'ip' };
}

/** Headers of a usage look-up that comes too soon after others. */
export function lookupLimitHeaders(window: WindowState, nowMs: number): RateLimitHeaders {
  return { ...singleWindowHeaders('usage', 1, window, nowMs), ...refusal('usage', window.resetMs) };
}

function singleWindowHeaders(
  name: string,
  seconds: number,
  window: WindowState,
  nowMs: number,
): RateLimitHeaders {
  return {
    ...xRateLimit(window, nowMs),
    'RateLimit-Policy': policy(name, window.limit, seconds),
    RateLimit: quotaLeft(name, window),
  };
}

/** Headers of a 429. @param window what refused the request, by its name in RateLimit */
export function refusal(window: WindowName | 'ip' | 'usage' | 'ban', waitMs: number): RateLimitHeaders {
  return { 'X-RateLimit-Window': window, ...retryAfter(waitMs) };
}

/** Seconds until a retry can succeed, at least 1 (RFC 9110 section 10.2.3). */
export function retryAfter(waitMs: number): RateLimitHeaders {
  return { 'Retry-After': String(Math.max(1, wholeSeconds(waitMs))) };
}

function xRateLimit(window: WindowState, nowMs: number): RateLimitHeaders {
  return {
    'X-RateLimit-Limit': String(window.limit),
    'X-RateLimit-Remaining': String(window.remaining),
    'X-RateLimit-Reset': String(wholeSeconds(nowMs + window.resetMs)),
  };
}

/** @param shown the window for X-RateLimit; RateLimit has all */
function windowHeaders(shown: WindowState, states: WindowStates, nowMs: number): RateLimitHeaders {
  return {
    ...xRateLimit(shown, nowMs),
    'RateLimit-Policy': listed(states, (name, { limit }) => windowPolicy(name, limit, nowMs)),
    RateLimit: listed(states, quotaLeft),
  };
}

function windowPolicy(name: WindowName, limit: number, nowMs: number): string {
  return policy(name, limit, windowLengthMs(name, nowMs) / 1000);
}

/** A list of RFC 9651, with a member for each window. */
function listed<Value>(
  values: ByWindow<Value>,
  memberOf: (name: WindowName, value: Value) => string,
): string {
  let list = '';
  for (const { name } of windows) {
    const value = values[name];
    if (value !== undefined) list += `${list === '' ? '' : ', '}${memberOf(name, value)}`;
  }
  return list;
}

function policy(name: string, limit: number, seconds: number): string {
  return `"${name}";q=${limit};w=${seconds}`;
}

function quotaLeft(name: string, { remaining, resetMs }: WindowState): string {
  return `"${name}";r=${remaining};t=${wholeSeconds(resetMs)}`;
}

function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
