import type { Metrics } from '../observability/metrics.ts';
import type { HistogramChild } from '../observability/prelabelled-histogram.ts';
import { latencyOf, type DurationHistogram } from './latency.ts';

/** What a process has measured in the last minute. */
export interface RecentMeasures {
  /** In milliseconds, of the Redis commands that requests wait for; null with few of them. */
  redisP99Ms: number | null;
  /** In milliseconds, of the requests to the slowest service; null with few of them. */
  upstreamP99Ms: number | null;
  /** The gateway's own error responses, by code. */
  errors: Record<string, number>;
}

type Counts = ReadonlyMap<string | number, number>;

interface Reading {
  atMs: number;
  redis: Counts;
  /** By service. */
  upstream: ReadonlyMap<string, Counts>;
  errors: Counts;
}

const keptMs = 60_000;
const stepMs = 5000;
/** With fewer, the p99 is the slowest one. */
const minimumCount = 100;

/**
 * Creates the reading of them, from what the metrics count anyway.
 * @param now in milliseconds
 */
export function createRecentMeasures(
  metrics: Pick<Metrics, 'redisSeconds' | 'upstreamSeconds' | 'errors'>,
  now: () => number = () => performance.now(),
): () => Promise<RecentMeasures> {
  let readings: Reading[] = [];

  return async function readRecentMeasures() {
    const errors = (await metrics.errors.get()).values;
    const reading: Reading = {
      atMs: now(),
      redis: bucketsOf(metrics.redisSeconds),
      upstream: new Map(
        metrics.upstreamSeconds
          .children()
          .map(({ labels, child }) => [String(labels['service']), bucketsOf(child)]),
      ),
      errors: new Map(errors.map(({ labels, value }) => [String(labels.code), value])),
    };
    readings = readings.filter(({ atMs }) => reading.atMs - atMs <= keptMs);
    const [oldest] = readings;
    if (reading.atMs - (readings.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) >= stepMs) readings.push(reading);
    return {
      redisP99Ms: p99Of(since(oldest?.redis, reading.redis)),
      upstreamP99Ms: largest(
        Array.from(reading.upstream, ([service, counts]) =>
          p99Of(since(oldest?.upstream.get(service), counts)),
        ),
      ),
      errors: Object.fromEntries(since(oldest?.errors, reading.errors)),
    };
  };
}

const bucketsOf = (histogram: HistogramChild): Counts =>
  new Map(histogram.buckets().map(({ bound, count }) => [bound, count]));

function largest(values: readonly (number | null)[]): number | null {
  return values.reduce((max, value) => (max === null || (value !== null && value > max) ? value : max), null);
}

/** Counts that were added, without those that were not. */
function since<K extends string | number>(earlier: Counts | undefined, counts: ReadonlyMap<K, number>) {
  const added = Array.from(counts, ([key, count]): [K, number] => [key, count - (earlier?.get(key) ?? 0)]);
  return new Map(added.filter(([, count]) => count > 0));
}

function p99Of(added: ReadonlyMap<string | number, number>): number | null {
  const histogram: DurationHistogram = new Map(Array.from(added, ([bound, count]) => [Number(bound), count]));
  const count = added.values().reduce((sum, each) => sum + each, 0);
  return count < minimumCount ? null : (latencyOf(histogram)?.p99 ?? null);
}
