import { expect, test } from 'vitest';
import { createCaller } from '../../../../gateway/keys/api-key-cache.ts';
import { alignedLeftMs } from '../../../../gateway/limits/windows.ts';
import type { Plans } from '../../../../gateway/quota/plans.ts';
import { decisionOf, knownLimits } from '../../../../gateway/quota/quota-decision.ts';

const noonMs = Date.UTC(2026, 10, 20, 12, 0, 0, 250);
const lateMs = Date.UTC(2026, 10, 20, 23, 59, 50);

// The model of test/support/checks compares all else of a decision.
test.each([
  ['the minute, if only the minute limit is used up', 60, 900, 100, noonMs, 'minute'],
  ['the day, if only the day limit is used up', 3, 900, 1000, noonMs, 'day'],
  ['the day, if both are used up', 60, 60_000, 1000, noonMs, 'day'],
  ['the minute, if both are used up and it ends after the day', 60, 30_000, 1000, lateMs, 'minute'],
  ['the day, if both are used up and end together', 60, 10_000, 1000, lateMs, 'day'],
])('the window that refuses is %s', (_name, used, leftMs, usedOfDay, nowMs, violated) => {
  const day = { used: usedOfDay, leftMs: alignedLeftMs('day', nowMs) };
  expect(
    decisionOf(false, { minute: 60, day: 1000 }, { uses: { minute: { used, leftMs }, day }, nowMs }),
  ).toMatchObject({ outcome: 'limited', violated, windows: { day: { resetMs: day.leftMs } } });
});

test('a window of which more is left than its length, as after the clock was set back, is shown with its length', () => {
  const minute = { used: 1, leftMs: 90_000 };
  expect(decisionOf(true, { minute: 60 }, { uses: { minute }, nowMs: noonMs })).toMatchObject({
    windows: { minute: { resetMs: 60_000 } },
  });
});

test('a caller without known limits gets 503, and others their limits', () => {
  const caller = createCaller(
    { id: 'k', customerId: 'cus_k', name: '', plan: 'p', hint: '', createdAt: '', rev: 1 },
    'hash',
  );
  const limits = { minute: 1, day: 2 };
  const plans = (known?: typeof limits) => ({ limitsOf: () => known }) as unknown as Plans;
  expect(knownLimits(plans(limits), caller)).toBe(limits);
  expect(() => knownLimits(plans(), caller)).toThrow('The limits of this API key are not set up');
});
