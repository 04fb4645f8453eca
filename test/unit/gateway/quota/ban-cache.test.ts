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
  minute: { limit: 60, remaining: 59, resetMs: 60_000 },
  day: { limit: 1000, remaining: 999, resetMs: 1000 },
  nowMs: redisMs,
};

let nowMs = 0;
let asked = 0;
/** A second after the first ban is read. */
const outageSinceMs = 5_001_000;
let bans: BanCache;

/** What Redis would say, counted. */
const saying = (decision: QuotaDecision) => () => {
  asked += 1;
  return Promise.resolve(decision);
};

const forbidden = () => Promise.reject(new Error('Redis is asked'));

beforeEach(() => {
  nowMs = 5_000_000;
  asked = 0;
  bans = createBanCache({ now: () => nowMs });
});

describe('a ban', () => {
  test('is remembered for a second, with its end where it was', async () => {
    expect(await bans.getOrDecide('a', undefined, saying(banned(60_000)))).toEqual(banned(60_000));
    nowMs += 999;
    expect(await bans.getOrDecide('a', undefined, forbidden)).toEqual({
      outcome: 'banned',
      limits,
      remainingMs: 59_001,
      nowMs: redisMs + 999,
      // It was new to the request that led to it.
      isNew: false,
    });
  });

  test('is told of once, however many requests meet it together, and so is the next one', async () => {
    const met: number[] = [];
    const recall = (decision: QuotaDecision) =>
      bans.getOrDecide('a', undefined, saying(decision), ({ remainingMs }) => met.push(remainingMs));
    const madeElsewhere = banned(60_000, false);
    await Promise.all([recall(madeElsewhere), recall(madeElsewhere), recall(madeElsewhere)]);
    nowMs += 1000;
    await recall(banned(59_000, false));
    expect(met).toEqual([60_000]);
    nowMs += 59_000;
    await recall(banned(120_000));
    expect(met).toEqual([60_000, 120_000]);
  });

  test('is asked about again after a second', async () => {
    await bans.getOrDecide('a', undefined, saying(banned(60_000)));
    nowMs += 1000;
    expect(await bans.getOrDecide('a', undefined, saying(banned(30_000)))).toEqual(banned(30_000));
    nowMs += 500;
    expect(await bans.getOrDecide('a', undefined, forbidden)).toMatchObject({ remainingMs: 29_500 });
  });

  test('that was lifted is noticed after a second, and forgotten', async () => {
    await bans.getOrDecide('a', undefined, saying(banned(60_000)));
    nowMs += 1000;
    expect(await bans.getOrDecide('a', undefined, saying(allowed))).toEqual(allowed);
    expect(await bans.getOrDecide('a', outageSinceMs, saying(allowed))).toEqual(allowed);
    expect(asked).toBe(3);
  });

  test('is over at its end and not a millisecond later', async () => {
    await bans.getOrDecide('a', undefined, saying(banned(500)));
    nowMs += 499;
    expect(await bans.getOrDecide('a', undefined, forbidden)).toMatchObject({
      outcome: 'banned',
      remainingMs: 1,
    });
    nowMs += 1;
    expect(await bans.getOrDecide('a', undefined, saying(allowed))).toEqual(allowed);
  });

  test('is believed until its end while Redis is away', async () => {
    await bans.getOrDecide('a', undefined, saying(banned(60_000)));
    nowMs += 59_999;
    expect(await bans.getOrDecide('a', outageSinceMs, forbidden)).toMatchObject({
      outcome: 'banned',
      remainingMs: 1,
    });
    nowMs += 1;
    expect(await bans.getOrDecide('a', outageSinceMs, saying(allowed))).toEqual(allowed);
  });

  test('is not believed during an outage where it was read long before: it may have been lifted', async () => {
    await bans.getOrDecide('a', undefined, saying(banned(60_000)));
    nowMs += 30_000;
    const outcome = async (sinceMs: number) =>
      (await bans.getOrDecide('a', sinceMs, saying(allowed))).outcome;
    expect(await outcome(5_009_999)).toBe('banned');
    expect(await outcome(5_010_000)).toBe('allowed');
  });

  test('of one key says nothing about another', async () => {
    await bans.getOrDecide('a', undefined, saying(banned(60_000)));
    expect(await bans.getOrDecide('b', undefined, saying(allowed))).toEqual(allowed);
  });

  test('outlives a stale record, which says nothing about it', async () => {
    await bans.getOrDecide('a', undefined, saying(banned(60_000)));
    nowMs += 1000;
    expect(await bans.getOrDecide('a', undefined, saying({ outcome: 'stale' }))).toEqual({
      outcome: 'stale',
    });
    expect(await bans.getOrDecide('a', outageSinceMs, forbidden)).toMatchObject({
      outcome: 'banned',
      remainingMs: 59_000,
    });
  });
});

describe('however many requests of a banned key wait', () => {
  const burst = (decide: () => Promise<QuotaDecision>) =>
    Promise.all(Array.from({ length: 100 }, () => bans.getOrDecide('a', undefined, decide)));

  beforeEach(async () => {
    await bans.getOrDecide('a', undefined, saying(banned(60_000)));
    nowMs += 1000;
    asked = 0;
  });

  test('Redis is asked once', async () => {
    const decisions = await burst(saying(banned(30_000)));
    // New to the one that asked, and to no other.
    expect(decisions).toEqual([banned(30_000), ...Array.from({ length: 99 }, () => banned(30_000, false))]);
    expect(asked).toBe(1);
  });

  test('each is counted for itself where the ban is over', async () => {
    const decisions = await burst(saying(allowed));
    expect(decisions).toEqual(Array.from({ length: 100 }, () => allowed));
    expect(asked).toBe(100);
  });

  test('a question that fails is asked again by the next request', async () => {
    await expect(bans.getOrDecide('a', undefined, forbidden)).rejects.toThrow('Redis is asked');
    expect(await bans.getOrDecide('a', undefined, saying(banned(30_000)))).toEqual(banned(30_000));
  });
});

test('a key that is not banned is decided on each time', async () => {
  await bans.getOrDecide('a', undefined, saying(allowed));
  await bans.getOrDecide('a', outageSinceMs, saying(allowed));
  expect(asked).toBe(2);
});
