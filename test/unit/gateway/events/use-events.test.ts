import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Caller } from '../../../../gateway/api-keys/api-key-cache.ts';
import { eventTypes, type FoundEvent } from '../../../../gateway/events/event-types.ts';
import { createPlanThresholds } from '../../../../gateway/events/plan-thresholds.ts';
import { createUseObserver } from '../../../../gateway/events/use-events.ts';
import { parseThresholds, unitsAt } from '../../../../gateway/limits/thresholds.ts';
import type { Ban } from '../../../../gateway/quota/quota-decision.ts';

const nowMs = Date.UTC(2026, 10, 26, 7);

function observe(thresholds: readonly number[], own?: readonly number[]) {
  const found: FoundEvent[] = [];
  const observer = createUseObserver({
    thresholds: { of: () => thresholds },
    publish: (event) => found.push(event),
  });
  const known = { id: 'key_1', customerId: 'cus_1', plan: 'free', name: 'Ada', thresholds: own };
  const caller = known as unknown as Caller;
  const minute = { limit: 5, remaining: 0, resetMs: 1000 };
  return {
    found,
    ban: (atMs: number, ban: Partial<Ban>) =>
      observer.banned(caller, {
        outcome: 'banned',
        limits: { minute: 5, day: 50 },
        nowMs: atMs,
        remainingMs: 60_000,
        isNew: false,
        ...ban,
      }),
    use: (limit: number, used: number, units = 1, atMs = nowMs) =>
      observer.allowed(
        caller,
        { windows: { minute, day: { limit, remaining: limit - used, resetMs: 1000 } }, nowMs: atMs },
        units,
      ),
  };
}

test('of all requests up to a limit, one finds each threshold, whatever they cost', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 400 }),
      fc.uniqueArray(fc.integer({ min: 1, max: 100 }), { maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 400 }),
      (limit, thresholds, costs) => {
        const { found, use } = observe(thresholds);
        let used = 0;
        for (const cost of costs) {
          if (used + cost > limit) continue;
          used += cost;
          use(limit, used, cost);
        }
        const reached = thresholds.filter((share) => used * 100 >= share * limit && used > 0);
        const thresholdOf = ({ data }: FoundEvent) =>
          Object.entries(data).find(([name]) => name === 'threshold')?.[1];
        expect(new Set(found.map(thresholdOf))).toEqual(new Set(reached));
        expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
      },
    ),
  );
});

test('the same threshold has the same id in the same window only, and the event fits its type', () => {
  const { found, use } = observe([80, 100]);
  use(10, 8);
  use(10, 8, 3);
  use(10, 8, 1, nowMs + 86_400_000);
  use(10, 10);
  const [first, again, nextDay, full] = found;
  expect(again?.id).toBe(first?.id);
  expect(new Set([first?.id, nextDay?.id, full?.id]).size).toBe(3);
  expect(first).toMatchObject({ type: 'quota.threshold', period: '20261126', customerId: 'cus_1' });
  expect(eventTypes['quota.threshold'].data.strict().safeParse(first?.data).error).toBeUndefined();
});

test('processes that meet a ban by a gateway find the same event, and of one by an operator none', () => {
  const { found, ban } = observe([]);
  const setEndMs = nowMs + 60_000;
  ban(nowMs, { isNew: true, setEndMs });
  ban(nowMs + 900, { setEndMs });
  ban(nowMs + 70_000, { setEndMs: setEndMs + 120_000 });
  ban(nowMs, { reason: 'by an operator' });
  const [first, again, next, ...others] = found;
  expect(others).toEqual([]);
  expect(again?.id).toBe(first?.id);
  expect(again?.period).toBe(first?.period);
  expect(next?.id).not.toBe(first?.id);
  expect(first).toMatchObject({ type: 'ban.began', data: { endsAt: new Date(setEndMs).toISOString() } });
  expect(eventTypes['ban.began'].data.strict().safeParse(first?.data).error).toBeUndefined();
});

test.each([
  [undefined, [50, 80, 100]],
  [[], []],
  [[50], [50]],
])('a customer with the thresholds %j gets the events at %j, and operators all', (own, expected) => {
  const { found, use } = observe([50, 80, 100], own);
  use(10, 10, 10);
  const shareOf = ({ data }: FoundEvent) => (data as { threshold: number }).threshold;
  expect(found.map(shareOf)).toEqual([50, 80, 100]);
  expect(found.filter(({ forOperators }) => forOperators !== true).map(shareOf)).toEqual(expected);
});

test('thresholds of a plan and own ones are all of them, ascending', async () => {
  const fields = { pro: '80,100', '*': '90' };
  const thresholds = createPlanThresholds({
    hashes: { read: () => Promise.resolve(fields) },
    invalidValues: { report: () => {} },
  });
  await thresholds.refresh();
  const of = (plan: string, own?: number[]) => thresholds.of({ plan, thresholds: own });
  expect([of('pro'), of('pro', []), of('pro', [100, 5]), of('free', [95]), of('free')]).toEqual([
    [80, 100],
    [80, 100],
    [5, 80, 100],
    [90, 95],
    [90],
  ]);
});

test.each([
  ['80,100', [80, 100]],
  ['100, 50', [50, 100]],
  ['none', []],
  ['', undefined],
  ['0', undefined],
  ['101', undefined],
  ['80,80', undefined],
  ['1,2,3,4,5,6', undefined],
  ['80.5', undefined],
])('thresholds %j are %j', (text, expected) => {
  expect(parseThresholds(text)).toEqual(expected);
});

test('a share of a limit is rounded up, so that a limit of 1 has all of its thresholds at 1', () => {
  expect([unitsAt(80, 1), unitsAt(1, 1), unitsAt(80, 1000), unitsAt(80, 1_000_000_000)]).toEqual([
    1, 1, 800, 800_000_000,
  ]);
});
