import { z } from 'zod';
import { durationBounds, type Metrics } from '../platform/observability/metrics.ts';
import { bucketCounts } from '../platform/observability/request-metrics.ts';
import type { RecentMeasures } from '../platform/redis/process-statuses.ts';
import {
  countsSince,
  formatBound,
  parseBound,
  parseField,
  readTrafficCounts,
  type TrafficCounts,
} from './traffic.ts';

const keptMs = 60_000;
const stepMs = 1000;
/** With fewer, the p99 is the slowest one. */
const minimumCount = 100;

type Measured = Pick<
  Metrics,
  | 'requests'
  | 'quotaRefusals'
  | 'bannedRequests'
  | 'unauthenticatedRequests'
  | 'bans'
  | 'errors'
  | 'redisSeconds'
  | 'upstreamSeconds'
>;

/**
 * Creates the reading of what a process has measured in the last minute, from what the metrics count anyway.
 * @param now in milliseconds
 */
export function createRecentMeasures(
  metrics: Measured,
  now: () => number = () => performance.now(),
): () => Promise<RecentMeasures> {
  /** The first one is a minute old, or the start of the process. */
  const readings: { atMs: number; counts: TrafficCounts }[] = [{ atMs: now(), counts: new Map() }];

  return async function readRecentMeasures() {
    const reading = { atMs: now(), counts: await readCounts(metrics) };
    while (reading.atMs - (readings[1]?.atMs ?? reading.atMs) >= keptMs) readings.shift();
    if (reading.atMs - (readings.at(-1)?.atMs ?? 0) >= stepMs) readings.push(reading);
    const added = countsSince(readings[0]?.counts, reading.counts);
    return describe(added);
  };
}

/** The counts of the record, and those that only the last minute has. */
async function readCounts(metrics: Measured): Promise<TrafficCounts> {
  const counts = await readTrafficCounts(metrics);
  for (const { bound, count } of await bucketCounts(metrics.redisSeconds))
    counts.set(`redis:${formatBound(bound)}`, count);
  for (const { labels, bound, count } of await bucketCounts(metrics.upstreamSeconds))
    counts.set(`upstream ${labels['service']}:${formatBound(bound)}`, count);
  for (const { labels, value } of (await metrics.errors.get()).values)
    counts.set(`error:${labels.code}`, value);
  for (const { labels, value } of (await metrics.bans.get()).values) counts.set(`ban:${labels.plan}`, value);
  for (const { labels, value } of (await metrics.unauthenticatedRequests.get()).values) {
    counts.set(`unauthenticated:${labels.plan}`, value);
  }
  return counts;
}

const notStatuses = /^(?:refused|ms|redis|error|ban|unauthenticated|upstream .*)$/;

function describe(added: TrafficCounts): RecentMeasures {
  const fields = Array.from(added, ([field, count]) => ({ field: parseField(field), count }));
  const ofKind = (wanted: string) =>
    fields
      .filter(({ field: [kind] }) => kind === wanted)
      .map(({ field: [, name], count }) => ({ name, count }));
  const byName = (kind: string) => Object.fromEntries(ofKind(kind).map(({ name, count }) => [name, count]));
  const total = (kind: string) => ofKind(kind).reduce((sum, { count }) => sum + count, 0);
  const p99Of = (kind: string) =>
    total(kind) < minimumCount
      ? null
      : (latencyOf(new Map(ofKind(kind).map(({ name, count }) => [parseBound(name), count])))?.p99 ?? null);
  const byStatus: Record<string, number> = {};
  for (const {
    field: [status],
    count,
  } of fields) {
    if (!notStatuses.test(status)) byStatus[status] = (byStatus[status] ?? 0) + count;
  }
  const upstreams = new Set(
    fields.map(({ field: [kind] }) => kind).filter((kind) => kind.startsWith('upstream ')),
  );
  const upstreamP99s = Array.from(upstreams, p99Of).filter((ms) => ms !== null);
  return {
    byStatus,
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

/** Requests by upper bound of their duration in milliseconds. */
type DurationHistogram = ReadonlyMap<number, number>;

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
