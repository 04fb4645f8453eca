import type { Limits } from '../plans/limits.ts';
import type { CurrentDecision, WindowName, WindowState } from './quota-decision.ts';
import type { Usage } from './usage.ts';

/** Header names and values, in the order in which they are sent. */
export type RateLimitHeaders = Record<string, string>;

/**
 * Headers of the specification, section 8.3, and of draft-ietf-httpapi-ratelimit-headers: X-RateLimit shows one window,
 * RateLimit both, or only the ban, since what the windows have left is not read during one. Times are whole seconds,
 * rounded up, so that waiting as long as they say always suffices.
 */
export function rateLimitHeaders(decision: CurrentDecision): RateLimitHeaders {
  const { nowMs } = decision;
  if (decision.outcome === 'banned') {
    const { limits, remainingMs } = decision;
    return { ...banHeaders(limits, remainingMs, nowMs), ...refusal('ban', remainingMs) };
  }
  const { minute, day } = decision;
  if (decision.outcome === 'allowed') {
    const binding = bindingWindow(minute, day) === 'minute' ? minute : day;
    return windowHeaders(binding, minute, day, nowMs);
  }
  const violated = decision.violated === 'minute' ? minute : day;
  return {
    ...windowHeaders(violated, minute, day, nowMs),
    ...refusal(decision.violated, violated.resetMs),
    ...(decision.strikesLeft ? { 'X-RateLimit-Ban-After': String(decision.strikesLeft) } : undefined),
  };
}

/** Headers of a response about usage. Nothing was refused. */
export function usageHeaders({ minute, day, banMs, nowMs }: Usage): RateLimitHeaders {
  if (banMs === 0) return rateLimitHeaders({ outcome: 'allowed', minute, day, nowMs });
  return banHeaders({ minute: minute.limit, day: day.limit }, banMs, nowMs);
}

function banHeaders(limits: Limits, remainingMs: number, nowMs: number): RateLimitHeaders {
  const ban = { limit: limits.minute, remaining: 0, resetMs: remainingMs };
  return {
    ...xRateLimit(ban, nowMs),
    'RateLimit-Policy': bothPolicies(limits.minute, limits.day),
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
    'RateLimit-Policy': `"${name}";q=${window.limit};w=${seconds}`,
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

/** The window with the fewest requests left, which will refuse first; on a tie the one that ends later. */
function bindingWindow(minute: WindowState, day: WindowState): WindowName {
  if (minute.remaining !== day.remaining) return minute.remaining < day.remaining ? 'minute' : 'day';
  return minute.resetMs > day.resetMs ? 'minute' : 'day';
}

function xRateLimit(window: WindowState, nowMs: number): RateLimitHeaders {
  return {
    'X-RateLimit-Limit': String(window.limit),
    'X-RateLimit-Remaining': String(window.remaining),
    'X-RateLimit-Reset': String(wholeSeconds(nowMs + window.resetMs)),
  };
}

/** @param shown the window for X-RateLimit; RateLimit has both */
function windowHeaders(
  shown: WindowState,
  minute: WindowState,
  day: WindowState,
  nowMs: number,
): RateLimitHeaders {
  return {
    ...xRateLimit(shown, nowMs),
    'RateLimit-Policy': bothPolicies(minute.limit, day.limit),
    RateLimit: `${quotaLeft('minute', minute)}, ${quotaLeft('day', day)}`,
  };
}

function bothPolicies(minute: number, day: number): string {
  return `"minute";q=${minute};w=60, "day";q=${day};w=86400`;
}

function quotaLeft(name: string, { remaining, resetMs }: WindowState): string {
  return `"${name}";r=${remaining};t=${wholeSeconds(resetMs)}`;
}

function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
