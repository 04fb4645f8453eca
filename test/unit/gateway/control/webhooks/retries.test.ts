import { expect, test } from 'vitest';
import { retryDelayMs } from '../../../../../gateway/control/webhooks/deliver-events.ts';
import { parseRetryAfter } from '../../../../../gateway/control/webhooks/send-webhook.ts';

const dayMs = 86_400_000;
const nowMs = Date.UTC(2026, 10, 26, 7);

test('an event is sent again over 24 hours, ever less often, and at their end for the last time', () => {
  let leftMs = dayMs;
  const delays: number[] = [];
  while (leftMs > 0 && delays.length < 100) {
    const delayMs = retryDelayMs(delays.length, { retryAfterMs: undefined, leftMs });
    delays.push(delayMs);
    leftMs -= delayMs;
  }
  expect(leftMs).toBe(0);
  expect(delays.length).toBeGreaterThan(12);
  expect(delays.length).toBeLessThan(30);
  expect(delays[0]).toBeGreaterThanOrEqual(3750);
  expect(delays[0]).toBeLessThanOrEqual(6250);
  expect(Math.max(...delays)).toBeLessThanOrEqual(1.25 * 7_200_000);
});

test('delays have jitter, and Retry-After is obeyed up to the end', () => {
  const delays = Array.from({ length: 20 }, () =>
    retryDelayMs(3, { retryAfterMs: undefined, leftMs: dayMs }),
  );
  expect(new Set(delays).size).toBeGreaterThan(10);
  expect(retryDelayMs(0, { retryAfterMs: 600_000, leftMs: dayMs })).toBe(600_000);
  expect(retryDelayMs(0, { retryAfterMs: 2 * dayMs, leftMs: dayMs })).toBe(dayMs);
});

test.each([
  ['120', 120_000],
  ['0', 0],
  [new Date(nowMs + 60_000).toUTCString(), 60_000],
  [new Date(nowMs - 60_000).toUTCString(), 0],
  ['soon', undefined],
  [undefined, undefined],
])('Retry-After %j is %j ms', (value, ms) => {
  expect(parseRetryAfter(value, nowMs)).toBe(ms);
});
