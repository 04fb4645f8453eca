import { z } from 'zod';
import { durationBounds } from '../platform/observability/metrics.ts';
import type { RecentMeasures } from '../platform/redis/process-statuses.ts';
import { countsByKind, countsSince, readCounts, type CountedMetrics, type Counts } from './traffic.ts';

const keptMs = 60_000;
const stepMs = 1000;
/** With fewer, the p99 is the slowest one. */
const minimumCount = 100;

/**
 * Creates the reading of what a process has measured in the last minute, from what the metrics count anyway.
 * @param now in milliseconds
 */
export function createRecentMeasures(
  metrics: CountedMetrics,
  now: () => number = () => performance.now(),
): () => Promise<RecentMeasures> {
  /** The first one is a minute old, or the start of the process. */
  const readings: { atMs: number; counts: Counts }[] = [{ atMs: now(), counts: new Map() }];

  return async function readRecentMeasures() {
    const reading = { atMs: now(), counts: await readCounts(metrics) };
    while (reading.atMs - (readings[1]?.atMs ?? reading.atMs) >= keptMs) readings.shift();
    if (reading.atMs - (readings.at(-1)?.atMs ?? 0) >= stepMs) readings.push(reading);
    return describe(countsSince(readings[0]?.counts ?? new Map(), reading.counts));
  };
}

function describe(added: Counts): RecentMeasures {
  const kinds = countsByKind(added);
  const byName = (kind: string) => kinds.get(kind) ?? {};
  const total = (kind: string) => sum(Object.values(byName(kind)));
  const p99Of = (kind: string) =>
    total(kind) < minimumCount ? null : (latencyOf(byName(kind))?.p99 ?? null);
  const upstreamP99s = Array.from(kinds.keys())
    .filter((kind) => kind.startsWith('upstream '))
    .map(p99Of)
    .filter((ms) => ms !== null);
  return {
    byStatus: byName('status'),
    refused: byName('refused'),
    unauthenticated: total('unauthenticated'),
    bans: total('ban'),
    durations: byName('ms'),
    redisP99Ms: p99Of('redis'),
    upstreamP99Ms: upstreamP99s.length === 0 ? null : Math.max(...upstreamP99s),
    errors: byName('error'),
  };
}

/**
 * Quantiles in milliseconds, interpolated within a bucket as Prometheus does. The true value is in the same bucket, that
 * is between the same two of the bounds 1, 2.5, 5, 10, 25, 50, 100, … ms. 30,000 stands for all longer ones.
 */
export const latencySchema = z
  .object({ p50: z.number(), p99: z.number() })
  .meta({ id: 'Latency', description: 'Quantiles in milliseconds' });

type Latency = z.infer<typeof latencySchema>;

const boundsMs = durationBounds.map((seconds) => seconds * 1000);

/** @param counts by upper bound in milliseconds, or `inf`. @returns null without requests */
export function latencyOf(counts: Readonly<Record<string, number>>): Latency | null {
  const total = sum(Object.values(counts));
  if (total === 0) return null;
  // A gateway of another version may have other bounds.
  const bounds = [...new Set([...boundsMs, ...Object.keys(counts).map(Number)])]
    .filter(Number.isFinite)
    .toSorted((one, other) => one - other);

  function quantile(share: number): number {
    const rank = share * total;
    let below = 0;
    let lower = 0;
    for (const bound of bounds) {
      const count = counts[bound] ?? 0;
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

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
