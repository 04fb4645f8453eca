import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventTypes, type GatewayEvent } from '../../../../../gateway/control/webhooks/event-types.ts';
import { createUseObserver } from '../../../../../gateway/control/webhooks/use-events.ts';
import type { Caller } from '../../../../../gateway/keys/api-key-cache.ts';
import type { Ban } from '../../../../../gateway/quota/quota-decision.ts';

const nowMs = Date.UTC(2026, 10, 26, 7);

function observe() {
  const found: GatewayEvent[] = [];
  const observer = createUseObserver({ publish: (event) => found.push(event) });
  const known = { id: 'key_1', customerId: 'cus_1', plan: 'free', name: 'Ada' };
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
    use: (limit: number, used: number, units = 1, atMs = nowMs) => {
      const day = { limit, remaining: limit - used, resetMs: 1000 };
      return observer.decided(caller, { outcome: 'allowed', windows: { minute, day }, nowMs: atMs }, units);
    },
  };
}

test('of all requests up to a limit, one finds each threshold, whatever they cost', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 400 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 400 }),
      (limit, costs) => {
        const { found, use } = observe();
        let used = 0;
        for (const cost of costs) {
          if (used + cost > limit) continue;
          used += cost;
          use(limit, used, cost);
        }
        const reached = [80, 100].filter((share) => used * 100 >= share * limit && used > 0);
        const thresholdOf = ({ data }: GatewayEvent) =>
          Object.entries(data).find(([name]) => name === 'threshold')?.[1];
        expect(new Set(found.map(thresholdOf))).toEqual(new Set(reached));
        expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
      },
    ),
  );
});

test('the same threshold has the same id in the same window only, and the event fits its type', () => {
  const { found, use } = observe();
  use(10, 8);
  use(10, 8, 3);
  use(10, 8, 1, nowMs + 86_400_000);
  use(10, 10);
  const [first, again, nextDay, full] = found;
  expect(again?.id).toBe(first?.id);
  expect(new Set([first?.id, nextDay?.id, full?.id]).size).toBe(3);
  expect(first).toMatchObject({ type: 'quota.threshold', customerId: 'cus_1' });
  expect(eventTypes['quota.threshold'].data.strict().safeParse(first?.data).error).toBeUndefined();
});

test('processes that meet a ban by a gateway find the same event, and of one by an operator none', () => {
  const { found, ban } = observe();
  const setEndMs = nowMs + 60_000;
  ban(nowMs, { isNew: true, setEndMs });
  ban(nowMs + 900, { setEndMs });
  ban(nowMs + 70_000, { setEndMs: setEndMs + 120_000 });
  ban(nowMs, { reason: 'by an operator' });
  const [first, again, next, ...others] = found;
  expect(others).toEqual([]);
  expect(again?.id).toBe(first?.id);
  expect(next?.id).not.toBe(first?.id);
  expect(first).toMatchObject({ type: 'ban.began', data: { endsAt: new Date(setEndMs).toISOString() } });
  expect(eventTypes['ban.began'].data.strict().safeParse(first?.data).error).toBeUndefined();
});
