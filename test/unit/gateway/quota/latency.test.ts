import fc from 'fast-check';
import { expect, test } from 'vitest';
import { durationBounds } from '../../../../gateway/platform/observability/metrics.ts';
import { latencyOf } from '../../../../gateway/quota/latency.ts';

test('quantiles are interpolated within their bucket', () => {
  // 100 requests between 5 and 10 ms: half of them are assumed to take up to 7.5 ms.
  expect(latencyOf(new Map([[10, 100]]))).toEqual({ p50: 7.5, p99: 9.95 });
  const twoBuckets = new Map([
    [1, 90],
    [1000, 10],
  ]);
  expect(latencyOf(twoBuckets)).toEqual({ p50: 0.556, p99: 950 });
});

test('what takes longer than the last bound is shown as that bound', () => {
  expect(latencyOf(new Map([[Infinity, 3]]))).toEqual({ p50: 30_000, p99: 30_000 });
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
      for (const each of seconds) {
        const boundMs = bucketOf(each) * 1000;
        histogram.set(boundMs, (histogram.get(boundMs) ?? 0) + 1);
      }
      const sorted = seconds.toSorted((one, other) => one - other);
      const latency = latencyOf(histogram);
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
