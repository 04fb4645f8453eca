import { defaultBanPolicy } from '../../../gateway/quota/policies.ts';
import { checkHistory } from '../../histories/check-history.ts';
import type { Change, ChangeMade, Fault, History, RecordedRequest } from '../../histories/history.ts';

/*
 * Parts of hand-written histories.
 */

export const startMs = Date.UTC(2026, 10, 20, 12);
export const minuteEndMs = startMs + 40_000;
const dayEndMs = Date.UTC(2026, 10, 21);
export const limits = { minute: 3, day: 50 };

let sent = 0;

interface Made extends Partial<RecordedRequest> {
  /** Seconds since the start. */
  at: number;
  /** Seconds. */
  took?: number;
  /** Used of the minute and the day, this request included. */
  used?: number;
  usedOfDay?: number;
  minuteLimit?: number;
  minuteEndsAt?: number;
}

const secondsTo = (ms: number, fromMs: number) => Math.ceil((ms - fromMs) / 1000);

/** A response of a key `k`, decided in the middle of its interval. */
export function request(made: Made): RecordedRequest {
  const { at, took = 0.01, used = 1, usedOfDay = used, minuteLimit = limits.minute, ...rest } = made;
  const { minuteEndsAt = minuteEndMs, ...own } = rest;
  const decidedMs = startMs + (at + took / 2) * 1000;
  const remaining = Math.max(0, minuteLimit - used);
  const [minute, day] = [secondsTo(minuteEndsAt, decidedMs), secondsTo(dayEndMs, decidedMs)];
  sent += 1;
  return {
    id: `r${sent}`,
    client: 'c',
    owner: 'k',
    key: 'k',
    gateway: 0,
    method: 'GET',
    startMs: startMs + at * 1000,
    endMs: startMs + (at + took) * 1000,
    status: 200,
    headers: {
      'x-ratelimit-limit': String(minuteLimit),
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': String(Math.ceil(minuteEndsAt / 1000)),
      'ratelimit-policy': `"minute";q=${minuteLimit};w=60, "day";q=${limits.day};w=86400`,
      ratelimit: `"minute";r=${remaining};t=${minute}, "day";r=${limits.day - usedOfDay};t=${day}`,
    },
    ...own,
  };
}

/** A 429 of the minute, with `used` requests of it. */
export function refused(made: Made): RecordedRequest {
  const shown = request({ used: limits.minute, usedOfDay: limits.minute, ...made });
  const [, seconds = ''] = /t=(\d+)/.exec(shown.headers['ratelimit'] ?? '') ?? [];
  const headers = { ...shown.headers, 'x-ratelimit-window': 'minute', 'retry-after': seconds };
  return { ...shown, status: 429, code: 'rate_limit_exceeded', headers };
}

/** A 429 of a ban that ends some seconds after the start. */
export function banned({ endsAt, ...made }: Made & { endsAt: number }): RecordedRequest {
  const shown = request(made);
  const endMs = startMs + endsAt * 1000;
  const seconds = String(secondsTo(endMs, (shown.startMs + shown.endMs) / 2));
  const headers = {
    ...shown.headers,
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(Math.ceil(endMs / 1000)),
    'x-ratelimit-window': 'ban',
    'ratelimit-policy': `${shown.headers['ratelimit-policy']}, "ban";q=0;w=${seconds}`,
    ratelimit: `"ban";r=0;t=${seconds}`,
    'retry-after': seconds,
  };
  return { ...shown, status: 429, code: 'api_key_banned', headers };
}

export function refusedForKey(made: Made, code = 'revoked_api_key'): RecordedRequest {
  const shown = request(made);
  const ratelimit = '"ip";r=2;t=30';
  const address = { 'ratelimit-policy': '"ip";q=3;w=60', ratelimit };
  const reset = String(Math.ceil((shown.startMs + 30_000) / 1000));
  return {
    ...shown,
    status: code === 'service_unavailable' ? 503 : 401,
    code,
    headers: { ...shown.headers, ...address, 'x-ratelimit-remaining': '2', 'x-ratelimit-reset': reset },
  };
}

const seconds = (from: number, to: number) => ({
  startMs: startMs + from * 1000,
  endMs: startMs + to * 1000,
});

/** A change that was made from one time to another. */
export const change = (from: number, to: number, made: ChangeMade): Change => ({
  ...made,
  ...seconds(from, to),
  outcome: 'made',
});

export function history(requests: RecordedRequest[], more: Partial<History> = {}): History {
  return {
    ...seconds(0, 120),
    policy: { ...defaultBanPolicy, graceSeconds: 0, strikes: 3, strikesPerLimit: 0 },
    plans: { free: limits },
    owners: { k: { plan: 'free' } },
    opened: [],
    requests,
    changes: [],
    faults: [],
    outages: [],
    lives: [{ gateway: 0, startMs: startMs - 5000, endMs: startMs + 200_000, killed: false }],
    ...more,
  };
}

/** Names of the promises that a history breaks. */
export function broken(requests: RecordedRequest[], more: Partial<History> = {}): string[] {
  return [...new Set(checkHistory(history(requests, more)).map(({ promise }) => promise))];
}

export const fault = (kind: string, target: Fault['target'], from: number, to: number) => ({
  kind,
  target,
  gateway: target === 'gateway' ? 0 : undefined,
  ...seconds(from, to),
});
export const outage = (from: number, to: number) => ({ gateway: 0, ...seconds(from, to) });
export const three = () => [1, 2, 3].map((used) => request({ at: used, used }));
