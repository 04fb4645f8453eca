import { expect, test } from 'vitest';
import { createRedisClock } from '../../../../../gateway/platform/redis/redis-gate.ts';

const startMs = Date.UTC(2026, 10, 22);

/** A Redis at this time, whose reply takes this long. */
function setUp({ ownMs }: { ownMs: number }) {
  const state = { redisMs: startMs, monotonicMs: 50, roundTripMs: 10, reachable: true };
  const clock = createRedisClock({
    redis: {
      async time() {
        if (!state.reachable) throw new Error('down');
        state.monotonicMs += state.roundTripMs / 2;
        const time = state.redisMs;
        state.monotonicMs += state.roundTripMs / 2;
        return [Math.floor(time / 1000), (time % 1000) * 1000];
      },
    },
    now: () => ownMs,
    monotonicMs: () => state.monotonicMs,
  });
  return { clock, state };
}

test('goes on during an outage, whatever happens to the clock of this process', async () => {
  const { clock, state } = setUp({ ownMs: 7 });
  await clock.sync();
  state.reachable = false;
  state.monotonicMs += 20_000;
  await expect(clock.sync()).rejects.toThrow('down');
  expect(clock.now()).toBe(startMs + 20_005);
});

test('follows Redis when its clock is set back', async () => {
  const { clock, state } = setUp({ ownMs: 7 });
  await clock.sync();
  state.redisMs -= 600_000;
  await clock.sync();
  expect(clock.now()).toBe(startMs - 599_990);
});

test('a reading that took long changes nothing that agrees with it, and the rest no further than it has to', async () => {
  const { clock, state } = setUp({ ownMs: 7 });
  await clock.sync();
  expect(clock.now()).toBe(startMs + 5);
  state.roundTripMs = 400;
  state.redisMs += 250;
  await clock.sync();
  expect(clock.now()).toBe(startMs + 405);
  state.redisMs += 5000;
  await clock.sync();
  // It may have been read as late as now.
  expect(clock.now()).toBe(startMs + 5250);
});

test('a quick reading corrects what a slow one left open', async () => {
  const { clock, state } = setUp({ ownMs: 7 });
  state.roundTripMs = 90;
  await clock.sync();
  state.roundTripMs = 0;
  state.redisMs += 90;
  await clock.sync();
  expect(clock.now()).toBe(startMs + 90);
});
