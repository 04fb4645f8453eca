import type { CurrentDecision, WindowName, WindowState } from './quota-decision.ts';
import type { Usage } from './usage.ts';

/** Header names and values, in the order in which they are sent. */
export type RateLimitHeaders = Record<string, string>;

/**
 * Specification section 8.3 and draft-ietf-httpapi-ratelimit-headers: the X-RateLimit headers show one window,
 * the RateLimit headers both. Whole seconds, rounded up, so that waiting as long as they say always suffices.
 */
export function rateLimitHeaders(decision: CurrentDecision): RateLimitHeaders {
  const { nowMs } = decision;
  if (decision.outcome === 'banned') {
    const { limits, remainingMs } = decision;
    const minute = { limit: limits.minute, remaining: 0, resetMs: remainingMs };
    const day = { limit: limits.day, remaining: 0, resetMs: remainingMs };
    return { ...windowsShown(minute, minute, day, nowMs), ...retryAfter(remainingMs) };
  }
  const { minute, day } = decision;
  if (decision.outcome === 'allowed') {
    const shown = bindingWindow(minute, day) === 'minute' ? minute : day;
    return windowsShown(shown, minute, day, nowMs);
  }
  const shown = decision.violated === 'minute' ? minute : day;
  return { ...windowsShown(shown, minute, day, nowMs), ...retryAfter(shown.resetMs) };
}

/** Headers of an answer about usage, which was not decided on: as before the next request, and no Retry-After. */
export function usageHeaders({ minute, day, banMs, nowMs }: Usage): RateLimitHeaders {
  if (banMs === 0) return rateLimitHeaders({ outcome: 'allowed', minute, day, nowMs });
  const limits = { minute: minute.limit, day: day.limit };
  const { 'Retry-After': _left, ...headers } = rateLimitHeaders({
    outcome: 'banned',
    limits,
    remainingMs: banMs,
    nowMs,
    isNew: false,
  });
  return headers;
}

/** Headers of a request without a valid key, which draws on the limit of its address alone. */
export function addressLimitHeaders(window: WindowState, nowMs: number): RateLimitHeaders {
  return singleWindow('ip', 60, window, nowMs);
}

/** Headers of a look at one's usage that comes too soon after others. */
export function lookupLimitHeaders(window: WindowState, nowMs: number): RateLimitHeaders {
  return singleWindow('usage', 1, window, nowMs);
}

function singleWindow(name: string, seconds: number, window: WindowState, nowMs: number): RateLimitHeaders {
  return {
    ...shownWindow(window, nowMs),
    'RateLimit-Policy': `"${name}";q=${window.limit};w=${seconds}`,
    RateLimit: `"${name}";r=${window.remaining};t=${wholeSeconds(window.resetMs)}`,
  };
}

/** Seconds until a retry can succeed, at least 1 (RFC 9110 section 10.2.3). */
export function retryAfter(waitMs: number): RateLimitHeaders {
  return { 'Retry-After': String(Math.max(1, wholeSeconds(waitMs))) };
}

/** The window that will refuse first: fewest requests left, on a tie the one that ends later. */
function bindingWindow(minute: WindowState, day: WindowState): WindowName {
  if (minute.remaining !== day.remaining) return minute.remaining < day.remaining ? 'minute' : 'day';
  return minute.resetMs > day.resetMs ? 'minute' : 'day';
}

function shownWindow(window: WindowState, nowMs: number): RateLimitHeaders {
  return {
    'X-RateLimit-Limit': String(window.limit),
    'X-RateLimit-Remaining': String(window.remaining),
    'X-RateLimit-Reset': String(wholeSeconds(nowMs + window.resetMs)),
  };
}

/** One window in X-RateLimit, both in RateLimit. */
function windowsShown(
  shown: WindowState,
  minute: WindowState,
  day: WindowState,
  nowMs: number,
): RateLimitHeaders {
  return {
    ...shownWindow(shown, nowMs),
    'RateLimit-Policy': `"minute";q=${minute.limit};w=60, "day";q=${day.limit};w=86400`,
    RateLimit:
      `"minute";r=${minute.remaining};t=${wholeSeconds(minute.resetMs)}, ` +
      `"day";r=${day.remaining};t=${wholeSeconds(day.resetMs)}`,
  };
}

function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
