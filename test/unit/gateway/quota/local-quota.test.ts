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
    expect(await quota.consume('a', limits)).toEqual({
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
    expect(await consumeTimes(6, () => quota.consume('a', limits))).toEqual([
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
    await consumeTimes(10, () => quota.consume('a', limits));
    expect(await quota.consume('a', limits)).toMatchObject({
      outcome: 'limited',
      violated: 'minute',
      windows: {
        minute: { limit: 3, remaining: 0 },
        day: { limit: 5, remaining: 2 },
      },
    });
    expect(await quota.consume('a', { minute: 4, day: 5 })).toMatchObject({
      outcome: 'allowed',
      windows: {
        minute: { remaining: 0 },
        day: { remaining: 1 },
      },
    });
  });

  test('a used-up day limit refuses a request that is within the minute limit', async () => {
    const quota = createLocalQuota({ now: () => noonMs });
    await quota.consume('a', { minute: 3, day: 1 });
    expect(await quota.consume('a', { minute: 3, day: 1 })).toMatchObject({
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
    const burst = Array.from({ length: 200 }, () => quota.consume('a', { minute: 60, day: 1000 }));
    const allowed = (await Promise.all(burst)).filter(({ outcome }) => outcome === 'allowed');
    expect(allowed).toHaveLength(60);
    expect(await quota.consume('a', { minute: 61, day: 1000 })).toMatchObject({
      outcome: 'allowed',
      windows: {
        day: { remaining: 939 },
      },
    });
  });

  test('each key has its own windows', async () => {
    const quota = createLocalQuota({ now: () => noonMs });
    await consumeTimes(4, () => quota.consume('a', limits));
    expect(await quota.consume('b', limits)).toMatchObject({
      outcome: 'allowed',
      windows: {
        minute: { remaining: 2 },
      },
    });
  });

  test('a used-up day limit resets at midnight UTC, as its refusal said', async () => {
    let nowMs = Date.UTC(2026, 10, 20, 23, 59, 59);
    const quota = createLocalQuota({ now: () => nowMs });
    await quota.consume('a', { minute: 3, day: 1 });
    expect(await quota.consume('a', { minute: 3, day: 1 })).toMatchObject({
      outcome: 'limited',
      violated: 'day',
      windows: {
        day: { resetMs: 1000 },
      },
    });
    nowMs += 1000;
    expect(await quota.consume('a', { minute: 3, day: 1 })).toMatchObject({ outcome: 'allowed' });
  });

  test('a used-up minute resets at the end of the minute, as its refusal said', async () => {
    let nowMs = noonMs + 45_000;
    const quota = createLocalQuota({ now: () => nowMs });
    await quota.consume('a', { minute: 1, day: 5 });
    expect(await quota.consume('a', { minute: 1, day: 5 })).toMatchObject({
      outcome: 'limited',
      windows: {
        minute: { resetMs: 15_000 },
      },
    });
    nowMs += 15_000;
    expect(await quota.consume('a', { minute: 1, day: 5 })).toMatchObject({ outcome: 'allowed' });
  });
});
