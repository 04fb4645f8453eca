import type { Caller } from '../api-keys/api-key-cache.ts';
import { mapWindows } from '../limits/windows.ts';
import type { LookedUpUsage } from './usage-lookup.ts';
import type { UsedWindow } from './usage.ts';

/** The body of /v1/usage. */
export function usageBody(caller: Caller, usage: LookedUpUsage) {
  const { windows, banMs, banReason, strikes, strikesToBan, nowMs } = usage;
  const { id, name, expiresAt, scopes, replacedBy = null } = caller;
  return {
    plan: caller.plan,
    key: {
      id,
      name,
      expiresAt: expiresAt === undefined ? null : isoTime(Date.parse(expiresAt)),
      replacedBy,
      // Left out if undefined.
      scopes,
    },
    ...mapWindows(windows, (window) => windowJson(window, nowMs)),
    bannedUntil: banMs > 0 ? wholeSecond(nowMs + banMs) : null,
    banReason: banMs > 0 ? (banReason ?? ownBanReason) : null,
    strikes,
    strikesToBan,
    days: usage.days,
  };
}

const ownBanReason = 'It kept sending requests after 429.';

function windowJson({ limit, used, remaining, resetMs }: UsedWindow, nowMs: number) {
  return { limit, used, remaining, resetsAt: wholeSecond(nowMs + resetMs) };
}

/** ISO 8601 in UTC, rounded up as X-RateLimit-Reset is. */
function wholeSecond(ms: number): string {
  return isoTime(Math.ceil(ms / 1000) * 1000);
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}
