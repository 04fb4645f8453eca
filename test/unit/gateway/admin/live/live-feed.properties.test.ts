import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLiveFeed } from '../../../../../gateway/admin/live/live-feed.ts';
import type { LiveState } from '../../../../../gateway/admin/live/live-state.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const step = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ does: 'open' as const }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('leave' as const), console: fc.nat() }) },
  { weight: 5, arbitrary: fc.constant({ does: 'second' as const }) },
  { weight: 5, arbitrary: fc.constant({ does: 'reading ends' as const }) },
  { weight: 1, arbitrary: fc.constant({ does: 'reading fails' as const }) },
);

const idsOf = (events: readonly string[]) =>
  events.flatMap((event) => {
    const [, id] = /^id: (\d+)$/m.exec(event) ?? [];
    return id === undefined ? [] : Number(id);
  });

test('whatever the order of consoles, seconds and readings, each console gets its history, then states in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.array(step, { maxLength: 50 }), async (scheduler, steps) => {
      /** Readings under way of each reader; the feed has a new one for each first console. */
      const readers: { underWay: number; most: number }[] = [];
      let fails = false;
      let failures = 0;
      const feed = createLiveFeed({
        createReader() {
          const reader = { underWay: 0, most: 0 };
          readers.push(reader);
          return async () => {
            reader.underWay += 1;
            reader.most = Math.max(reader.most, reader.underWay);
            await scheduler.schedule(Promise.resolve());
            reader.underWay -= 1;
            if (fails) throw new Error('a bug');
            return { traffic: null } as unknown as LiveState;
          };
        },
        logUnexpected: () => (failures += 1),
      });
      const open: { received: string[]; leave: () => void }[] = [];
      const left: { received: string[]; before: number }[] = [];
      for (const step of steps) {
        switch (step.does) {
          case 'open': {
            const received: string[] = [];
            const leave = feed.subscribe({ send: (event) => received.push(event) });
            open.push({ received, leave });
            break;
          }
          case 'leave': {
            const [console] = open.splice(step.console % Math.max(1, open.length), 1);
            console?.leave();
            if (console !== undefined)
              left.push({ received: console.received, before: console.received.length });
            break;
          }
          case 'second':
            vi.advanceTimersByTime(1000);
            break;
          case 'reading fails':
          case 'reading ends':
            fails = step.does === 'reading fails';
            if (scheduler.count() > 0) await scheduler.waitNext(1);
            fails = false;
        }
      }
      await scheduler.waitIdle();
      for (const { received } of [...open, ...left]) {
        expect(received[0]).toMatch(/^event: history\n/);
        const ids = idsOf(received);
        expect(ids).toHaveLength(received.length - 1);
        // Each once, and in order.
        expect(ids).toEqual([...new Set(ids)].toSorted((one, other) => one - other));
      }
      // All that are open have the same last state.
      expect(new Set(open.map(({ received }) => idsOf(received).at(-1))).size).toBeLessThanOrEqual(1);
      for (const { received, before } of left) expect(received).toHaveLength(before);
      for (const { most } of readers) expect(most).toBeLessThanOrEqual(1);
      for (const { leave } of open) leave();
      expect(vi.getTimerCount()).toBe(0);
      expect(failures).toBeLessThanOrEqual(steps.filter(({ does }) => does === 'reading fails').length);
    }),
    { numRuns: 200 },
  );
});
