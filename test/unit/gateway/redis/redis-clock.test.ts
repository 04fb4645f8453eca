import { expect, test } from 'vitest';
import { createRedisClock } from '../../../../gateway/redis/redis-clock.ts';

/** A Redis at this time, whose reply takes this long. */
function setUp({ ownMs }: { ownMs: number }) {
  const state = { redisMs: 1_000_000, monotonicMs: 50, roundTripMs: 10, reachable: true };
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

test("Redis' clock is this process' own until it has been read", () => {
  expect(setUp({ ownMs: 7 }).clock.now()).toBe(7);
});

test('goes on during an outage, whatever happens to the clock of this process', async () => {
  const { clock, state } = setUp({ ownMs: 7 });
  await clock.sync();
  state.reachable = false;
  state.monotonicMs += 20_000;
  await expect(clock.sync()).rejects.toThrow('down');
  expect(clock.now()).toBe(1_020_005);
});

test('follows Redis when its clock is set back', async () => {
  const { clock, state } = setUp({ ownMs: 7 });
  await clock.sync();
  state.redisMs -= 600_000;
  await clock.sync();
  expect(clock.now()).toBe(400_005);
});

test('ignores a reading that took long, unless it is the first', async () => {
  const { clock, state } = setUp({ ownMs: 7 });
  state.roundTripMs = 400;
  await clock.sync();
  expect(clock.now()).toBe(1_000_200);
  state.redisMs += 5000;
  await clock.sync();
  expect(clock.now()).toBe(1_000_600);
});
