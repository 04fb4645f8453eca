import type { CurrentDecision, WindowName, WindowState } from './quota-decision.ts';
import type { Usage } from './usage.ts';

/** Header names and values, in the order in which they are sent. */
export type RateLimitHeaders = Record<string, string>;

/**
 * Headers of the specification, section 8.3, and of draft-ietf-httpapi-ratelimit-headers: X-RateLimit shows one window,
 * RateLimit both. Times are whole seconds, rounded up, so that waiting as long as they say always suffices.
 */
export function rateLimitHeaders(decision: CurrentDecision): RateLimitHeaders {
  const { nowMs } = decision;
  if (decision.outcome === 'banned') {
    const { limits, remainingMs } = decision;
    const minute = { limit: limits.minute, remaining: 0, resetMs: remainingMs };
    const day = { limit: limits.day, remaining: 0, resetMs: remainingMs };
    return { ...windowHeaders(minute, minute, day, nowMs), ...retryAfter(remainingMs) };
  }
  const { minute, day } = decision;
  if (decision.outcome === 'allowed') {
    const binding = bindingWindow(minute, day) === 'minute' ? minute : day;
    return windowHeaders(binding, minute, day, nowMs);
  }
  const violated = decision.violated === 'minute' ? minute : day;
  return { ...windowHeaders(violated, minute, day, nowMs), ...retryAfter(violated.resetMs) };
}

/** Headers of a response about usage. Nothing was decided, so there is no Retry-After. */
export function usageHeaders({ minute, day, banMs, nowMs }: Usage): RateLimitHeaders {
  if (banMs === 0) return rateLimitHeaders({ outcome: 'allowed', minute, day, nowMs });
  const limits = { minute: minute.limit, day: day.limit };
  const { 'Retry-After': _omitted, ...headers } = rateLimitHeaders({
    outcome: 'banned',
    limits,
    remainingMs: banMs,
    nowMs,
    isNew: false,
  });
  return headers;
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
  return addressLimitHeaders(shown, nowMs);
}

/** Headers of a usage look-up that comes too soon after others. */
export function lookupLimitHeaders(window: WindowState, nowMs: number): RateLimitHeaders {
  return singleWindowHeaders('usage', 1, window, nowMs);
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
    RateLimit: `"${name}";r=${window.remaining};t=${wholeSeconds(window.resetMs)}`,
  };
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
    'RateLimit-Policy': `"minute";q=${minute.limit};w=60, "day";q=${day.limit};w=86400`,
    RateLimit:
      `"minute";r=${minute.remaining};t=${wholeSeconds(minute.resetMs)}, ` +
      `"day";r=${day.remaining};t=${wholeSeconds(day.resetMs)}`,
  };
}

function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
