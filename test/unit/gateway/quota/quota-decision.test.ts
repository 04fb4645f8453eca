import { describe, expect, test } from 'vitest';
import { alignedLeftMs } from '../../../../gateway/limits/windows.ts';
import { decisionOf } from '../../../../gateway/quota/quota-decision.ts';

const limits = { minute: 60, day: 1000 };
const nowMs = Date.UTC(2026, 10, 20, 12, 0, 0, 250);
interface Use {
  minuteUsed: number;
  minuteLeftMs: number;
  dayUsed: number;
  nowMs: number;
}

/** The day ends at midnight UTC. */
const decide = (allowed: boolean, { minuteUsed, minuteLeftMs, dayUsed, nowMs }: Use) =>
  decisionOf(allowed, limits, {
    uses: {
      minute: { used: minuteUsed, leftMs: minuteLeftMs },
      day: { used: dayUsed, leftMs: alignedLeftMs('day', nowMs) },
    },
    nowMs,
  });
const toMidnightMs = 43_199_750;

test('an allowed request shows the remaining requests of both windows', () => {
  expect(decide(true, { minuteUsed: 1, minuteLeftMs: 60_000, dayUsed: 10, nowMs })).toEqual({
    outcome: 'allowed',
    windows: {
      minute: { limit: 60, remaining: 59, resetMs: 60_000 },
      day: { limit: 1000, remaining: 990, resetMs: toMidnightMs },
    },
    nowMs,
  });
});

test('remaining is never negative, even after a limit was lowered', () => {
  expect(decide(false, { minuteUsed: 300, minuteLeftMs: 5000, dayUsed: 5000, nowMs })).toMatchObject({
    windows: { minute: { remaining: 0 }, day: { remaining: 0 } },
  });
});

test('a minute window never lasts longer than a minute', () => {
  expect(decide(true, { minuteUsed: 1, minuteLeftMs: 90_000, dayUsed: 1, nowMs })).toMatchObject({
    windows: { minute: { resetMs: 60_000 } },
  });
});

test.each([
  ['a whole day later', Date.UTC(2026, 10, 20), 86_400_000],
  ['a millisecond later', Date.UTC(2026, 10, 20) - 1, 1],
])('the day ends at midnight UTC, %s', (_name, at, resetMs) => {
  expect(decide(true, { minuteUsed: 1, minuteLeftMs: 60_000, dayUsed: 1, nowMs: at })).toMatchObject({
    windows: { day: { resetMs } },
  });
});

describe('the window that refuses', () => {
  const lateMs = Date.UTC(2026, 10, 20, 23, 59, 50);

  test.each([
    [
      'the minute, if only the minute limit is used up',
      { minuteUsed: 60, dayUsed: 100, minuteLeftMs: 900 },
      nowMs,
      'minute',
    ],
    [
      'the day, if only the day limit is used up',
      { minuteUsed: 3, dayUsed: 1000, minuteLeftMs: 900 },
      nowMs,
      'day',
    ],
    ['the day, if both are used up', { minuteUsed: 60, dayUsed: 1000, minuteLeftMs: 60_000 }, nowMs, 'day'],
    [
      'the minute, if both are used up and it ends after the day',
      { minuteUsed: 60, dayUsed: 1000, minuteLeftMs: 30_000 },
      lateMs,
      'minute',
    ],
    [
      'the day, if both are used up and end together',
      { minuteUsed: 60, dayUsed: 1000, minuteLeftMs: 10_000 },
      lateMs,
      'day',
    ],
  ])('is %s', (_name, usage, at, violated) => {
    expect(decide(false, { ...usage, nowMs: at })).toMatchObject({
      outcome: 'limited',
      violated,
    });
  });
});
