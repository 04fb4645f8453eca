import { beforeEach, describe, expect, test } from 'vitest';
import { createBanCache, type BanCache } from '../../../../gateway/quota/ban-cache.ts';
import type { QuotaDecision } from '../../../../gateway/quota/quota-decision.ts';

const limits = { minute: 60, day: 1000 };
const redisMs = 1_795_176_000_000;

const banned = (remainingMs: number, isNew = true): QuotaDecision => ({
  outcome: 'banned',
  limits,
  remainingMs,
  nowMs: redisMs,
  isNew,
});

const allowed: QuotaDecision = {
  outcome: 'allowed',
  windows: {
    minute: { limit: 60, remaining: 59, resetMs: 60_000 },
    day: { limit: 1000, remaining: 999, resetMs: 1000 },
  },
  nowMs: redisMs,
};

let nowMs = 0;
let redisReads = 0;
/** One second after the first ban is read. */
const outageSinceMs = 5_001_000;
let bans: BanCache;

/** Returns the decision as Redis would, and counts the calls. */
const decideAs = (decision: QuotaDecision) => () => {
  redisReads += 1;
  return Promise.resolve(decision);
};

const failIfCalled = () => Promise.reject(new Error('Redis is asked'));

beforeEach(() => {
  nowMs = 5_000_000;
  redisReads = 0;
  bans = createBanCache({ now: () => nowMs });
});

describe('a ban', () => {
  test('is trusted until its end while Redis is unavailable', async () => {
    await bans.getOrDecide('a', undefined, decideAs(banned(60_000)));
    nowMs += 59_999;
    expect(await bans.getOrDecide('a', outageSinceMs, failIfCalled)).toMatchObject({
      outcome: 'banned',
      remainingMs: 1,
    });
    nowMs += 1;
    expect(await bans.getOrDecide('a', outageSinceMs, decideAs(allowed))).toEqual(allowed);
  });

  test('is not trusted during an outage if it was read more than 10 s before: it may have been lifted', async () => {
    await bans.getOrDecide('a', undefined, decideAs(banned(60_000)));
    nowMs += 30_000;
    const outcome = async (sinceMs: number) =>
      (await bans.getOrDecide('a', sinceMs, decideAs(allowed))).outcome;
    expect(await outcome(5_009_999)).toBe('banned');
    expect(await outcome(5_010_000)).toBe('allowed');
  });
});

test('a decision without a ban is not cached', async () => {
  await bans.getOrDecide('a', undefined, decideAs(allowed));
  await bans.getOrDecide('a', outageSinceMs, decideAs(allowed));
  expect(redisReads).toBe(2);
});
