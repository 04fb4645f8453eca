import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMetrics, durationBounds } from '../../../../gateway/platform/observability/metrics.ts';
import { createRecentMeasures, latencyOf } from '../../../../gateway/quota/recent-measures.ts';

const noCounts = { byStatus: {}, refused: {}, unauthenticated: 0, bans: 0, errors: {} };
const nothing = { ...noCounts, durations: {}, redisP99Ms: null, upstreamP99Ms: null };

test('counts, p99 and errors are those of the last minute, and a p99 of few is none', async () => {
  const metrics = createMetrics();
  let nowMs = 0;
  const upstreamSeconds = metrics.upstreamSeconds.labels({ service: 'pets' });
  metrics.upstreamSeconds.zero({ service: 'idle' });
  const read = createRecentMeasures(metrics, () => nowMs);
  expect(await read()).toEqual(nothing);
  for (let count = 0; count < 98; count += 1) metrics.redisSeconds.observe(0.0004);
  upstreamSeconds.observe(5);
  metrics.errors.inc({ code: 'upstream_timeout' }, 3);
  metrics.requests.count('/v1/pets', 'GET', '2xx', 'free', 0.004);
  metrics.requests.count('/v1/pets', 'GET', '4xx', 'free', 0.001);
  metrics.requests.count('/v1/pets', 'GET', '4xx', 'none', 0.001);
  metrics.quotaRefusals.inc({ plan: 'free', window: 'day' });
  metrics.unauthenticatedRequests.inc({ plan: 'anonymous' });
  metrics.bans.inc({ plan: 'free' }, 2);
  nowMs += 5000;
  expect(await read()).toEqual({
    ...nothing,
    byStatus: { '2xx': 1, '4xx': 2 },
    refused: { free: 1 },
    unauthenticated: 1,
    bans: 2,
    durations: { 5: 1 },
    errors: { upstream_timeout: 3 },
  });
  for (let count = 0; count < 2; count += 1) metrics.redisSeconds.observe(0.09);
  for (let count = 0; count < 100; count += 1) upstreamSeconds.observe(0.3);
  nowMs += 5000;
  const { redisP99Ms, upstreamP99Ms } = await read();
  expect(redisP99Ms).toBeGreaterThan(50);
  expect(redisP99Ms).toBeLessThanOrEqual(100);
  expect(upstreamP99Ms).toBeGreaterThan(250);
  // All of it is more than a minute old.
  for (let step = 0; step < 14; step += 1) {
    nowMs += 5000;
    await read();
  }
  expect(await read()).toEqual(nothing);
});

test('quantiles are interpolated within their bucket', () => {
  // 100 requests between 5 and 10 ms: half of them are assumed to take up to 7.5 ms.
  expect(latencyOf({ 10: 100 })).toEqual({ p50: 7.5, p99: 9.95 });
  expect(latencyOf({ 1: 90, 1000: 10 })).toEqual({ p50: 0.556, p99: 950 });
});

test('what takes longer than the last bound is shown as that bound', () => {
  expect(latencyOf({ inf: 3 })).toEqual({ p50: 30_000, p99: 30_000 });
});

test('each quantile is in the bucket of the true one', () => {
  const bucketOf = (seconds: number) => durationBounds.find((bound) => seconds <= bound) ?? Infinity;
  const durations = fc.array(fc.double({ min: 1e-5, max: 29, noNaN: true }), {
    minLength: 1,
    maxLength: 200,
  });
  fc.assert(
    fc.property(durations, (seconds) => {
      const counts: Record<string, number> = {};
      for (const each of seconds) {
        const boundMs = bucketOf(each) * 1000;
        counts[boundMs] = (counts[boundMs] ?? 0) + 1;
      }
      const sorted = seconds.toSorted((one, other) => one - other);
      const latency = latencyOf(counts);
      for (const [share, ms] of [
        [0.5, latency?.p50 ?? 0],
        [0.99, latency?.p99 ?? 0],
      ] as const) {
        const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
        const upper = bucketOf(exact);
        const lower = durationBounds[durationBounds.indexOf(upper) - 1] ?? 0;
        // Rounded to a microsecond.
        expect(ms / 1000).toBeGreaterThanOrEqual(lower);
        expect(ms / 1000).toBeLessThanOrEqual(upper);
      }
    }),
  );
});
