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
  test('is cached for a second, with the same end', async () => {
    expect(await bans.getOrDecide('a', undefined, decideAs(banned(60_000)))).toEqual(banned(60_000));
    nowMs += 999;
    expect(await bans.getOrDecide('a', undefined, failIfCalled)).toEqual({
      outcome: 'banned',
      limits,
      remainingMs: 59_001,
      nowMs: redisMs + 999,
      // It was new only to the request that caused it.
      isNew: false,
    });
  });

  test('is reported once for concurrent requests, and so is the next ban', async () => {
    const observed: number[] = [];
    const getOrDecide = (decision: QuotaDecision) =>
      bans.getOrDecide('a', undefined, decideAs(decision), ({ remainingMs }) => observed.push(remainingMs));
    const banOfAnotherProcess = banned(60_000, false);
    await Promise.all([
      getOrDecide(banOfAnotherProcess),
      getOrDecide(banOfAnotherProcess),
      getOrDecide(banOfAnotherProcess),
    ]);
    nowMs += 1000;
    await getOrDecide(banned(59_000, false));
    expect(observed).toEqual([60_000]);
    nowMs += 59_000;
    await getOrDecide(banned(120_000));
    expect(observed).toEqual([60_000, 120_000]);
  });

  test('is read again after a second', async () => {
    await bans.getOrDecide('a', undefined, decideAs(banned(60_000)));
    nowMs += 1000;
    expect(await bans.getOrDecide('a', undefined, decideAs(banned(30_000)))).toEqual(banned(30_000));
    nowMs += 500;
    expect(await bans.getOrDecide('a', undefined, failIfCalled)).toMatchObject({ remainingMs: 29_500 });
  });

  test('is read again when it may have ended in Redis, because its reply was slow', async () => {
    const slowly = async (): Promise<QuotaDecision> => {
      nowMs += 80;
      return banned(500);
    };
    await bans.getOrDecide('a', undefined, slowly);
    nowMs += 419;
    expect(await bans.getOrDecide('a', undefined, failIfCalled)).toMatchObject({ remainingMs: 81 });
    nowMs += 1;
    expect(await bans.getOrDecide('a', undefined, decideAs(allowed))).toEqual(allowed);
  });

  test('that was lifted is noticed after a second and no longer cached', async () => {
    await bans.getOrDecide('a', undefined, decideAs(banned(60_000)));
    nowMs += 1000;
    expect(await bans.getOrDecide('a', undefined, decideAs(allowed))).toEqual(allowed);
    expect(await bans.getOrDecide('a', outageSinceMs, decideAs(allowed))).toEqual(allowed);
    expect(redisReads).toBe(3);
  });

  test('ends exactly at its end', async () => {
    await bans.getOrDecide('a', undefined, decideAs(banned(500)));
    nowMs += 499;
    expect(await bans.getOrDecide('a', undefined, failIfCalled)).toMatchObject({
      outcome: 'banned',
      remainingMs: 1,
    });
    nowMs += 1;
    expect(await bans.getOrDecide('a', undefined, decideAs(allowed))).toEqual(allowed);
  });

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

  test('of one key does not affect another key', async () => {
    await bans.getOrDecide('a', undefined, decideAs(banned(60_000)));
    expect(await bans.getOrDecide('b', undefined, decideAs(allowed))).toEqual(allowed);
  });

  test('stays cached when a record is stale', async () => {
    await bans.getOrDecide('a', undefined, decideAs(banned(60_000)));
    nowMs += 1000;
    expect(await bans.getOrDecide('a', undefined, decideAs({ outcome: 'stale' }))).toEqual({
      outcome: 'stale',
    });
    expect(await bans.getOrDecide('a', outageSinceMs, failIfCalled)).toMatchObject({
      outcome: 'banned',
      remainingMs: 59_000,
    });
  });
});

describe('concurrent requests of a banned key', () => {
  const burst = (decide: () => Promise<QuotaDecision>) =>
    Promise.all(Array.from({ length: 100 }, () => bans.getOrDecide('a', undefined, decide)));

  beforeEach(async () => {
    await bans.getOrDecide('a', undefined, decideAs(banned(60_000)));
    nowMs += 1000;
    redisReads = 0;
  });

  test('read the ban from Redis once', async () => {
    const decisions = await burst(decideAs(banned(30_000)));
    // New only to the request that read it.
    expect(decisions).toEqual([banned(30_000), ...Array.from({ length: 99 }, () => banned(30_000, false))]);
    expect(redisReads).toBe(1);
  });

  test('are each counted if the ban has ended', async () => {
    const decisions = await burst(decideAs(allowed));
    expect(decisions).toEqual(Array.from({ length: 100 }, () => allowed));
    expect(redisReads).toBe(100);
  });

  test('read the ban again after a failure', async () => {
    await expect(bans.getOrDecide('a', undefined, failIfCalled)).rejects.toThrow('Redis is asked');
    expect(await bans.getOrDecide('a', undefined, decideAs(banned(30_000)))).toEqual(banned(30_000));
  });
});

test('a decision without a ban is not cached', async () => {
  await bans.getOrDecide('a', undefined, decideAs(allowed));
  await bans.getOrDecide('a', outageSinceMs, decideAs(allowed));
  expect(redisReads).toBe(2);
});
