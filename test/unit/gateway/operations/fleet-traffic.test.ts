import { expect, test } from 'vitest';
import { createFleetTraffic } from '../../../../gateway/operations/fleet-traffic.ts';

const startMs = Date.UTC(2026, 10, 23, 12);
const startedAt = new Date(startMs - 3_600_000).toISOString();

/** @param seenMs after the start */
const fleetProcess = (id: string, seenMs: number, requests: number, more: Record<string, number> = {}) => ({
  id,
  seenAtMs: startMs + seenMs,
  startedAt,
  counts: { 'r2xx:': requests, 't2xx:5': requests, ...more },
});

test('traffic begins with the second reading', () => {
  const add = createFleetTraffic();
  expect(add([fleetProcess('a', 0, 1000)], startMs)).toBeUndefined();
  expect(add([fleetProcess('a', 1000, 1010)], startMs + 1000)).toMatchObject({
    seconds: 1,
    counted: { requests: 10 },
    perSecond: { requests: 10 },
  });
});

test('a rate is computed from the times at which each process has counted', () => {
  const add = createFleetTraffic();
  add([fleetProcess('a', -400, 0), fleetProcess('b', -100, 0)], startMs);
  // Of the process a, a half second more has passed than of b.
  const traffic = add([fleetProcess('a', 1100, 150), fleetProcess('b', 900, 20)], startMs + 1000);
  expect(traffic?.perSecond.requests).toBeCloseTo(120);
  expect(traffic?.perSecond.byStatus).toEqual({ '2xx': expect.closeTo(120) as number });
  expect(traffic?.counted.requests).toBe(170);
});

test('every request is counted in one reading, also when a process has not counted since the one before', () => {
  const add = createFleetTraffic();
  const seen = [0, 400, 400, 1400, 2400].map((ms, index) =>
    add([fleetProcess('a', ms, ms / 10)], startMs + index * 1000),
  );
  expect(seen.map((traffic) => traffic?.counted.requests)).toEqual([undefined, 40, 0, 100, 100]);
});

test('a process that has just started counts from its start, one that was not seen for long does not', () => {
  const add = createFleetTraffic();
  add([], startMs);
  const started = { ...fleetProcess('new', 1000, 7), startedAt: new Date(startMs).toISOString() };
  expect(add([started, fleetProcess('old', 1000, 50_000)], startMs + 1000)?.counted.requests).toBe(7);
});

test('a process that has ended is no longer part of the rate', () => {
  const add = createFleetTraffic();
  add([fleetProcess('a', 0, 0), fleetProcess('b', 0, 0)], startMs);
  add([fleetProcess('a', 1000, 10), fleetProcess('b', 1000, 10)], startMs + 1000);
  expect(add([fleetProcess('a', 2000, 20)], startMs + 2000)?.perSecond.requests).toBeCloseTo(10);
});

test('durations, refusals and bans are part of it', () => {
  const add = createFleetTraffic();
  add([fleetProcess('a', 0, 0)], startMs);
  const counts = { 'r4xx:': 6, 'wminute:': 4, 'wday:': 2, 'b:': 1, 'x:': 3 };
  const traffic = add([fleetProcess('a', 2000, 100, counts)], startMs + 2000);
  expect(traffic?.counted).toMatchObject({ refusals: { minute: 4, day: 2 }, bans: 1, bannedRequests: 3 });
  expect(traffic?.perSecond).toMatchObject({
    requests: 53,
    refusals: { minute: 2, day: 1 },
    latencyMs: { served: { p50: 3.75 } },
  });
});
