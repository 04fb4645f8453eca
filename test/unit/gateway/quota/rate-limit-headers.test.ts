import { describe, expect, test } from 'vitest';
import {
  addressLimitHeaders,
  connectionLimitHeaders,
  rateLimitHeaders,
} from '../../../../gateway/quota/rate-limit-headers.ts';

const nowMs = 1_795_176_000_000;
const minute = { limit: 60, remaining: 59, resetMs: 60_000 };
const day = { limit: 1000, remaining: 999, resetMs: 40_211_000 };
const policy = '"minute";q=60;w=60, "day";q=1000;w=86400';
/** X-RateLimit-Limit, -Remaining and -Reset. */
const shown = (limit: string, remaining: string, reset: string) => ({
  'X-RateLimit-Limit': limit,
  'X-RateLimit-Remaining': remaining,
  'X-RateLimit-Reset': reset,
});

test('an allowed request shows the minute in X-RateLimit and both windows in RateLimit', () => {
  expect(rateLimitHeaders({ outcome: 'allowed', windows: { minute, day }, nowMs })).toEqual({
    ...shown('60', '59', '1795176060'),
    'RateLimit-Policy': policy,
    RateLimit: '"minute";r=59;t=60, "day";r=999;t=40211',
  });
});

test('too many connections show that nothing is left until the retry, or until the limit of the address resets', () => {
  expect(connectionLimitHeaders(minute, 1000, nowMs)).toEqual({
    ...shown('60', '0', '1795176001'),
    'RateLimit-Policy': '"ip";q=60;w=60',
    RateLimit: '"ip";r=0;t=1',
    'X-RateLimit-Window': 'ip',
  });
  const usedUp = { ...minute, remaining: 0 };
  expect(connectionLimitHeaders(usedUp, 1000, nowMs)).toMatchObject(addressLimitHeaders(usedUp, nowMs));
});

test.each([
  ['the day if it has fewer requests left', 5, 4, day.resetMs, '1000'],
  ['the minute if it has fewer requests left', 4, 5, day.resetMs, '60'],
  ['the day on a tie', 5, 5, day.resetMs, '1000'],
  ['the minute on a tie shortly before midnight', 5, 5, 59_999, '60'],
])('X-RateLimit shows %s', (_name, ofMinute, ofDay, resetMs, limit) => {
  const windows = { minute: { ...minute, remaining: ofMinute }, day: { ...day, remaining: ofDay, resetMs } };
  expect(rateLimitHeaders({ outcome: 'allowed', windows, nowMs })).toMatchObject({
    'X-RateLimit-Limit': limit,
    'X-RateLimit-Remaining': String(Math.min(ofMinute, ofDay)),
  });
});

describe('a limited request', () => {
  test('waits for the end of the minute if that comes after the end of the day', () => {
    const windows = {
      minute: { limit: 60, remaining: 0, resetMs: 12_001 },
      day: { limit: 1000, remaining: 0, resetMs: 1000 },
    };
    expect(rateLimitHeaders({ outcome: 'limited', violated: 'minute', windows, nowMs })).toEqual({
      ...shown('60', '0', '1795176013'),
      'RateLimit-Policy': policy,
      RateLimit: '"minute";r=0;t=13, "day";r=0;t=1',
      'X-RateLimit-Window': 'minute',
      'Retry-After': '13',
    });
  });

  test('that costs several units shows what refused it, also if another window has fewer left', () => {
    const windows = { minute: { ...minute, remaining: 0 }, day: { ...day, remaining: 3 } };
    expect(rateLimitHeaders({ outcome: 'limited', violated: 'day', windows, nowMs })).toMatchObject({
      'X-RateLimit-Limit': '1000',
      'X-RateLimit-Remaining': '3',
      'Retry-After': '40211',
    });
  });

  test('waits for midnight if the day limit refused it, and is told how near a ban is', () => {
    const windows = { minute: { limit: 60, remaining: 30, resetMs: 500 }, day: { ...day, remaining: 0 } };
    const decision = { outcome: 'limited', violated: 'day', windows, nowMs, strikesLeft: 7 } as const;
    expect(rateLimitHeaders(decision)).toEqual({
      ...shown('1000', '0', '1795216211'),
      'RateLimit-Policy': policy,
      RateLimit: '"minute";r=30;t=1, "day";r=0;t=40211',
      'X-RateLimit-Window': 'day',
      'X-RateLimit-Ban-After': '7',
      'Retry-After': '40211',
    });
  });
});

test('a banned request shows the minute limit, nothing remaining and the end of the ban', () => {
  const limits = { minute: 60, day: 1000 };
  expect(rateLimitHeaders({ outcome: 'banned', limits, remainingMs: 118_500, nowMs, isNew: true })).toEqual({
    ...shown('60', '0', '1795176119'),
    'RateLimit-Policy': `${policy}, "ban";q=0;w=119`,
    RateLimit: '"ban";r=0;t=119',
    'X-RateLimit-Window': 'ban',
    'Retry-After': '119',
  });
});

test('a banned request without a minute limit shows its first window', () => {
  const limits = { hour: 5, month: 100 };
  expect(
    rateLimitHeaders({ outcome: 'banned', limits, remainingMs: 60_000, nowMs, isNew: true }),
  ).toMatchObject({
    'X-RateLimit-Limit': '5',
    'X-RateLimit-Remaining': '0',
    'RateLimit-Policy': expect.stringMatching(
      /^"hour";q=5;w=3600, "month";q=100;w=\d+, "ban";q=0;w=60$/,
    ) as string,
  });
});

test('a request without a valid key shows only the limit of its address', () => {
  expect(addressLimitHeaders({ limit: 60, remaining: 12, resetMs: 30_400 }, nowMs + 700)).toEqual({
    ...shown('60', '12', '1795176032'),
    'RateLimit-Policy': '"ip";q=60;w=60',
    RateLimit: '"ip";r=12;t=31',
  });
});
