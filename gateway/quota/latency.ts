import { z } from 'zod';
import { durationBounds } from '../platform/observability/metrics.ts';

/**
 * Quantiles in milliseconds, interpolated within a bucket as Prometheus does. The true value is in the same bucket, that
 * is between the same two of the bounds 1, 2.5, 5, 10, 25, 50, 100, … ms. 30,000 stands for all longer ones.
 */
export const latencySchema = z
  .object({ p50: z.number(), p99: z.number() })
  .meta({ id: 'Latency', description: 'Quantiles in milliseconds' });

export type Latency = z.infer<typeof latencySchema>;

/** Requests by upper bound of their duration in milliseconds. */
export type DurationHistogram = ReadonlyMap<number, number>;

const boundsMs = durationBounds.map((seconds) => seconds * 1000);

/** @returns null without requests */
export function latencyOf(histogram: DurationHistogram): Latency | null {
  const total = histogram.values().reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  // A gateway of another version may have other bounds.
  const bounds = [...new Set([...boundsMs, ...histogram.keys()])].toSorted((one, other) => one - other);

  function quantile(share: number): number {
    const rank = share * total;
    let below = 0;
    let lower = 0;
    for (const bound of bounds) {
      const count = histogram.get(bound) ?? 0;
      if (bound === Infinity) break;
      if (count > 0 && below + count >= rank) {
        return round(lower + ((bound - lower) * (rank - below)) / count);
      }
      below += count;
      lower = bound;
    }
    return round(lower);
  }

  return { p50: quantile(0.5), p99: quantile(0.99) };
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
