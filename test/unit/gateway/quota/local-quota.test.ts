import { describe, expect, test } from 'vitest';
import { createLocalQuota } from '../../../../gateway/quota/local-quota.ts';
import type { QuotaDecision } from '../../../../gateway/quota/quota-decision.ts';

const noonMs = Date.UTC(2026, 10, 20, 12);
const limits = { minute: 3, day: 5 };

async function consumeTimes(
  times: number,
  consume: () => Promise<QuotaDecision>,
): Promise<QuotaDecision['outcome'][]> {
  const outcomes: QuotaDecision['outcome'][] = [];
  for (let index = 0; index < times; index += 1) outcomes.push((await consume()).outcome);
  return outcomes;
}

describe('while Redis is unavailable', () => {
  test('a first request opens both windows', async () => {
    const quota = createLocalQuota({ now: () => noonMs });
    expect(await quota.consume('a', limits, 1)).toEqual({
      outcome: 'allowed',
      windows: {
        minute: { limit: 3, remaining: 2, resetMs: 60_000 },
        day: { limit: 5, remaining: 4, resetMs: 43_200_000 },
      },
      nowMs: noonMs,
    });
  });

  test('a request over the limit is refused, and so are its retries', async () => {
    const quota = createLocalQuota({ now: () => noonMs });
    expect(await consumeTimes(6, () => quota.consume('a', limits, 1))).toEqual([
      'allowed',
      'allowed',
      'allowed',
      'limited',
      'limited',
      'limited',
    ]);
  });

  test('a refused request uses no quota', async () => {
    const quota = createLocalQuota({ now: () => noonMs });
    await consumeTimes(10, () => quota.consume('a', limits, 1));
    expect(await quota.consume('a', limits, 1)).toMatchObject({
      outcome: 'limited',
      violated: 'minute',
      windows: {
        minute: { limit: 3, remaining: 0 },
        day: { limit: 5, remaining: 2 },
      },
    });
    expect(await quota.consume('a', { minute: 4, day: 5 }, 1)).toMatchObject({
      outcome: 'allowed',
      windows: {
        minute: { remaining: 0 },
        day: { remaining: 1 },
      },
    });
  });

  test('a used-up day limit refuses a request that is within the minute limit', async () => {
    const quota = createLocalQuota({ now: () => noonMs });
    await quota.consume('a', { minute: 3, day: 1 }, 1);
    expect(await quota.consume('a', { minute: 3, day: 1 }, 1)).toMatchObject({
      outcome: 'limited',
      violated: 'day',
      windows: {
        minute: { remaining: 2 },
        day: { remaining: 0, resetMs: 43_200_000 },
      },
    });
  });

  test('a parallel burst is allowed exactly the remaining requests', async () => {
    const quota = createLocalQuota({ now: () => noonMs });
    const burst = Array.from({ length: 200 }, () => quota.consume('a', { minute: 60, day: 1000 }, 1));
    const allowed = (await Promise.all(burst)).filter(({ outcome }) => outcome === 'allowed');
    expect(allowed).toHaveLength(60);
    expect(await quota.consume('a', { minute: 61, day: 1000 }, 1)).toMatchObject({
      outcome: 'allowed',
      windows: {
        day: { remaining: 939 },
      },
    });
  });

  test('each key has its own windows', async () => {
    const quota = createLocalQuota({ now: () => noonMs });
    await consumeTimes(4, () => quota.consume('a', limits, 1));
    expect(await quota.consume('b', limits, 1)).toMatchObject({
      outcome: 'allowed',
      windows: {
        minute: { remaining: 2 },
      },
    });
  });

  test.each([
    ['halved', 2, { minute: 30, day: 500 }],
    ['rounded down', 7, { minute: 8, day: 142 }],
    ['but at least 1', 100, { minute: 1, day: 10 }],
  ])('each instance has its share of the limits, %s', async (_name, instances, shared) => {
    const quota = createLocalQuota({ now: () => noonMs });
    const decision = await quota.consume('a', { minute: 60, day: 1000 }, instances);
    expect(decision).toMatchObject({
      windows: {
        minute: { limit: shared.minute, remaining: shared.minute - 1 },
        day: { limit: shared.day, remaining: shared.day - 1 },
      },
    });
  });

  test('what is given back can be used again, and nothing more', async () => {
    const quota = createLocalQuota({ now: () => noonMs });
    await quota.giveBack('a');
    await consumeTimes(3, () => quota.consume('a', limits, 1));
    await quota.giveBack('a');
    expect(await consumeTimes(2, () => quota.consume('a', limits, 1))).toEqual(['allowed', 'limited']);
  });

  test('a used-up day limit resets at midnight UTC, as its refusal said', async () => {
    let nowMs = Date.UTC(2026, 10, 20, 23, 59, 59);
    const quota = createLocalQuota({ now: () => nowMs });
    await quota.consume('a', { minute: 3, day: 1 }, 1);
    expect(await quota.consume('a', { minute: 3, day: 1 }, 1)).toMatchObject({
      outcome: 'limited',
      violated: 'day',
      windows: {
        day: { resetMs: 1000 },
      },
    });
    nowMs += 1000;
    expect(await quota.consume('a', { minute: 3, day: 1 }, 1)).toMatchObject({ outcome: 'allowed' });
  });

  test('a used-up minute resets at the end of the minute, as its refusal said', async () => {
    let nowMs = noonMs + 45_000;
    const quota = createLocalQuota({ now: () => nowMs });
    await quota.consume('a', { minute: 1, day: 5 }, 1);
    expect(await quota.consume('a', { minute: 1, day: 5 }, 1)).toMatchObject({
      outcome: 'limited',
      windows: {
        minute: { resetMs: 15_000 },
      },
    });
    nowMs += 15_000;
    expect(await quota.consume('a', { minute: 1, day: 5 }, 1)).toMatchObject({ outcome: 'allowed' });
  });

  test('instances admit the limit together in each minute, in whatever second of it a key comes to each', async () => {
    let nowMs = noonMs;
    const instances = [0, 20_000, 40_000].map((firstRequestMs) => ({
      firstRequestMs,
      quota: createLocalQuota({ now: () => nowMs }),
    }));
    const allowedIn = [0, 0, 0];
    for (let second = 0; second < 180; second += 1) {
      nowMs = noonMs + second * 1000;
      for (const { quota, firstRequestMs } of instances) {
        if (nowMs < noonMs + firstRequestMs) continue;
        for (let request = 0; request < 10; request += 1) {
          const { outcome } = await quota.consume('a', { minute: 300, day: 10_000 }, 3);
          const minute = Math.floor(second / 60);
          if (outcome === 'allowed') allowedIn[minute] = (allowedIn[minute] ?? 0) + 1;
        }
      }
    }
    expect(allowedIn).toEqual([300, 300, 300]);
  });
});
