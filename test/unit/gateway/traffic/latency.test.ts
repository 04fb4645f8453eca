import fc from 'fast-check';
import { expect, test } from 'vitest';
import { latencyOf } from '../../../../gateway/traffic/latency.ts';
import { durationBounds } from '../../../../gateway/traffic/traffic-fields.ts';

test('without requests there is no latency', () => {
  expect(latencyOf(new Map())).toBeNull();
  expect(latencyOf(new Map([[0.005, 0]]))).toBeNull();
});

test('quantiles are interpolated within their bucket', () => {
  // 100 requests between 5 and 10 ms: half of them are assumed to take up to 7.5 ms.
  expect(latencyOf(new Map([[0.01, 100]]))).toEqual({ p50: 7.5, p90: 9.5, p99: 9.95 });
  const twoBuckets = new Map([
    [0.001, 90],
    [1, 10],
  ]);
  expect(latencyOf(twoBuckets)).toEqual({ p50: 0.556, p90: 1, p99: 950 });
});

test('what takes longer than the last bound is shown as that bound', () => {
  expect(latencyOf(new Map([[Infinity, 3]]))).toEqual({ p50: 30_000, p90: 30_000, p99: 30_000 });
});

test('each quantile is in the bucket of the true one', () => {
  const bucketOf = (seconds: number) => durationBounds.find((bound) => seconds <= bound) ?? Infinity;
  const durations = fc.array(fc.double({ min: 1e-5, max: 29, noNaN: true }), {
    minLength: 1,
    maxLength: 200,
  });
  fc.assert(
    fc.property(durations, (seconds) => {
      const histogram = new Map<number, number>();
      for (const each of seconds) histogram.set(bucketOf(each), (histogram.get(bucketOf(each)) ?? 0) + 1);
      const sorted = seconds.toSorted((one, other) => one - other);
      const latency = latencyOf(histogram);
      for (const [share, ms] of [
        [0.5, latency?.p50 ?? 0],
        [0.9, latency?.p90 ?? 0],
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
