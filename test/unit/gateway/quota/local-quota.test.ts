import { expect, test } from 'vitest';
import { createLocalQuota } from '../../../../gateway/quota/local-quota.ts';

const noonMs = Date.UTC(2026, 10, 20, 12);

test('without Redis, a first request opens all windows of the limits', async () => {
  const quota = createLocalQuota({ now: () => noonMs });
  expect(await quota.consume('a', { minute: 3, day: 5 })).toEqual({
    outcome: 'allowed',
    windows: {
      minute: { limit: 3, remaining: 2, resetMs: 60_000 },
      day: { limit: 5, remaining: 4, resetMs: 43_200_000 },
    },
    nowMs: noonMs,
  });
});

test('a parallel burst is allowed exactly the remaining requests, and what is refused uses no quota of any window', async () => {
  const quota = createLocalQuota({ now: () => noonMs });
  const burst = Array.from({ length: 200 }, () => quota.consume('a', { minute: 60, day: 1000 }));
  const allowed = (await Promise.all(burst)).filter(({ outcome }) => outcome === 'allowed');
  expect(allowed).toHaveLength(60);
  expect(await quota.consume('a', { minute: 61, day: 1000 })).toMatchObject({
    outcome: 'allowed',
    windows: { minute: { remaining: 0 }, day: { remaining: 939 } },
  });
  // A costly one that is refused takes nothing from those beside it.
  const costs = [60, 60, 1, 1].map((cost) => quota.consume('c', { minute: 100 }, cost));
  const outcomes = (await Promise.all(costs)).map(({ outcome }) => outcome);
  expect(outcomes).toEqual(['allowed', 'limited', 'allowed', 'allowed']);
  // Each customer has its own windows.
  expect(await quota.consume('b', { minute: 60 })).toMatchObject({ windows: { minute: { remaining: 59 } } });
});

test.each([
  ['minute', { minute: 1, day: 5 }, noonMs + 45_000, 15_000, { day: { remaining: 4 } }],
  ['hour', { hour: 1 }, noonMs + 600_000, 3_000_000, {}],
  ['day', { minute: 3, day: 1 }, Date.UTC(2026, 10, 20, 23, 59, 59), 1000, { minute: { remaining: 2 } }],
] as const)(
  'a used-up %s resets at its end, as its refusal said, and another window has what it had',
  async (violated, limits, startMs, resetMs, others) => {
    let nowMs = startMs;
    const quota = createLocalQuota({ now: () => nowMs });
    await quota.consume('a', limits);
    for (const laterMs of [0, 1]) {
      nowMs = startMs + laterMs;
      expect(await quota.consume('a', limits)).toMatchObject({
        outcome: 'limited',
        violated,
        windows: { [violated]: { remaining: 0, resetMs: resetMs - laterMs }, ...others },
      });
    }
    nowMs = startMs + resetMs;
    expect(await quota.consume('a', limits)).toMatchObject({ outcome: 'allowed' });
  },
);
