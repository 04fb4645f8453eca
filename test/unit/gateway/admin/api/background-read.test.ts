import { afterEach, expect, test, vi } from 'vitest';
import { createBackgroundRead } from '../../../../../gateway/admin/api/background-read.ts';
import type { Session } from '../../../../../gateway/operations/session.ts';

afterEach(() => vi.useRealTimers());

test('a result is read again when it is too old, also after the clock was set back by an hour', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  let reads = 0;
  const background = createBackgroundRead({
    read: (use) => use({ now: () => 0 } as Session),
    run: () => Promise.resolve((reads += 1)),
    maxAgeMs: 1000,
  });
  const value = async () => (await background.state()).latest?.value;
  expect([await value(), await value()]).toEqual([1, 1]);
  vi.advanceTimersByTime(1001);
  vi.setSystemTime(Date.now() - 3_600_000);
  expect(await value()).toBe(2);
});

test("a result has the time of Redis' clock, whatever that of the gateway says", async () => {
  const background = createBackgroundRead({
    read: (use) => use({ now: () => 1234 } as Session),
    run: () => Promise.resolve('read'),
    maxAgeMs: 1000,
  });
  expect((await background.state()).latest).toEqual({ value: 'read', atMs: 1234 });
});
