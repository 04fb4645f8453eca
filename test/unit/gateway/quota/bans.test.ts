import { beforeEach, expect, test } from 'vitest';
import { consecutiveBan, createBanCache, operatorsReason } from '../../../../gateway/quota/bans.ts';
import type { QuotaDecision } from '../../../../gateway/quota/quota-decision.ts';

const window = { limit: 60, remaining: 59, resetMs: 1000 };
const allowed: QuotaDecision = { outcome: 'allowed', windows: { minute: window, day: window }, nowMs: 0 };
const banned: QuotaDecision = {
  outcome: 'banned',
  limits: { minute: 60, day: 1000 },
  remainingMs: 60_000,
  nowMs: 0,
  isNew: true,
};

let nowMs = 0;
let bans: ReturnType<typeof createBanCache>;

/** @param sinceMs begin of an outage */
const decide = (sinceMs: number | undefined, decision: QuotaDecision) =>
  bans.getOrDecide('a', sinceMs, () => Promise.resolve(decision));

beforeEach(async () => {
  nowMs = 5_000_000;
  bans = createBanCache({ now: () => nowMs });
  await decide(undefined, banned);
});

test('a ban is trusted until its end while Redis is unavailable', async () => {
  nowMs += 59_999;
  expect(await decide(5_001_000, allowed)).toMatchObject({ outcome: 'banned', remainingMs: 1 });
  nowMs += 1;
  expect(await decide(5_001_000, allowed)).toEqual(allowed);
});

test('a ban is not trusted in an outage if it was read more than 10 s before: it may have been lifted', async () => {
  nowMs += 30_000;
  expect(await decide(5_009_999, allowed)).toMatchObject({ outcome: 'banned' });
  expect(await decide(5_010_000, allowed)).toEqual(allowed);
});

test("an operator's reason is one line of at most 100 characters; a number or nothing is none", () => {
  expect(operatorsReason(' chargeback\n  of\tMay ')).toBe('chargeback of May');
  expect(operatorsReason('x'.repeat(101))).toBe('x'.repeat(100));
  expect(['', ' \n', '1', '999999999'].map(operatorsReason)).toEqual(Array(4).fill(undefined));
  expect(operatorsReason('1234567890')).toBe('1234567890');
});

test("a gateway's own ban has the number of consecutive bans", () => {
  expect(['1', '12', '999999999', '', '1234567890', '-1', 'x'].map(consecutiveBan)).toEqual([
    1,
    12,
    999_999_999,
    ...Array(4).fill(undefined),
  ]);
});
