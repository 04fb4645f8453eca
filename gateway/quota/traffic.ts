import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { Logger } from 'pino';
import type { Metrics } from '../platform/observability/metrics.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { isCommandError } from '../platform/redis/redis-errors.ts';
import type { RedisGate } from '../platform/redis/redis-gate.ts';
import { redisKeys } from '../platform/redis/redis-keys.ts';

/** Counts of a process or a time span by field: a kind, a colon and a name. */
export type Counts = Map<string, number>;

/** What is counted anyway, so that reading it costs no request anything. */
export type CountedMetrics = Pick<
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

interface ReadMetric {
  values: readonly {
    labels: Partial<Record<string, string | number>>;
    value: number;
    metricName?: string;
  }[];
}

/**
 * Reads what this process has counted since its start: `status` by class, `refused` (over a limit or during a ban), `unauthenticated`
 * and `ban` by plan, `error` by code; and durations by their upper bound in milliseconds or `inf`: `ms` of served requests, `redis`,
 * and `upstream` with the name of a service.
 */
export async function readCounts(metrics: CountedMetrics): Promise<Counts> {
  const counts: Counts = new Map();
  function add(kind: string, name: string | number | undefined, count: number): void {
    const field = `${kind}:${name}`;
    if (count > 0) counts.set(field, (counts.get(field) ?? 0) + count);
  }
  function addByLabel(kind: string, { values }: ReadMetric, label: string): void {
    for (const { labels, value } of values) add(kind, labels[label], value);
  }
  function addDurations(kind: string, { values }: ReadMetric, label?: string): void {
    // A bucket contains those below it.
    let below = 0;
    for (const { labels, value, metricName } of values) {
      if (metricName?.endsWith('_bucket') !== true) continue;
      const isLast = labels['le'] === '+Inf';
      const bound = isLast ? 'inf' : Math.round(Number(labels['le']) * 1e6) / 1000;
      add(label === undefined ? kind : `${kind} ${labels[label]}`, bound, value - below);
      below = isLast ? 0 : value;
    }
  }
  addByLabel('status', await metrics.requests.requests.get(), 'status');
  addDurations('ms', await metrics.requests.seconds.get());
  addByLabel('refused', await metrics.quotaRefusals.get(), 'plan');
  addByLabel('refused', await metrics.bannedRequests.get(), 'plan');
  addByLabel('unauthenticated', await metrics.unauthenticatedRequests.get(), 'plan');
  addByLabel('ban', await metrics.bans.get(), 'plan');
  addByLabel('error', await metrics.errors.get(), 'code');
  addDurations('redis', await metrics.redisSeconds.get());
  addDurations('upstream', await metrics.upstreamSeconds.get(), 'service');
  return counts;
}

/** Counts that were added since the earlier reading. */
export function countsSince(earlier: Counts, counts: Counts): Counts {
  const added = Array.from(counts, ([field, count]): [string, number] => [
    field,
    count - (earlier.get(field) ?? 0),
  ]);
  return new Map(added.filter(([, count]) => count > 0));
}

/** Groups counts by their kind, and then by name. A name, such as that of a plan, may have further colons. */
export function countsByKind(
  counts: Iterable<readonly [field: string, count: number]>,
): Map<string, Record<string, number>> {
  const kinds = Map.groupBy(counts, ([field]) => field.slice(0, field.indexOf(':')));
  return new Map(
    Array.from(kinds, ([kind, fields]) => [
      kind,
      Object.fromEntries(fields.map(([field, count]) => [field.slice(kind.length + 1), count])),
    ]),
  );
}

/** Kinds that the record of a minute has. */
const recorded = /^(?:status|refused|ms):/;

/** Interval of the reports of a process, of its traffic and its other counts: what it loses of them if it is killed. */
export const reportMs = 5000;
export const minuteMs = 60_000;
/** Minutes that the record goes back. */
export const keptMinutes = 24 * 60;
/** Minutes that are kept while Redis is unavailable. */
const maxPendingMinutes = 60;

interface TrafficReporterDependencies {
  redis: RedisClient;
  gate: Pick<RedisGate, 'open'>;
  /** Redis' clock, so that all processes have the same minutes. */
  now: () => number;
  metrics: CountedMetrics;
  log: Logger;
}

/**
 * Adds the traffic of this process to the record of all gateways: the difference of its counters since the last report. What
 * Redis does not confirm is not sent again, so that the chart may lack it, but never has it twice.
 */
export function createTrafficReporter(dependencies: TrafficReporterDependencies) {
  const { redis, gate, now, metrics, log } = dependencies;
  const isDue = createLogThrottle();
  /** By number of the minute since the Unix epoch. */
  const pending = new Map<number, Counts>();
  let counted: Counts = new Map();

  async function count(): Promise<void> {
    const counts = await readCounts(metrics);
    const added = countsSince(counted, counts);
    counted = counts;
    const minute = Math.floor(now() / minuteMs);
    const sums = pending.get(minute) ?? new Map<string, number>();
    for (const [field, count] of added)
      if (recorded.test(field)) sums.set(field, (sums.get(field) ?? 0) + count);
    if (sums.size > 0) pending.set(minute, sums);
    for (const old of pending.keys()) if (old <= minute - maxPendingMinutes) pending.delete(old);
  }

  async function send(minute: number, counts: Counts): Promise<void> {
    const key = redisKeys.traffic(minute);
    const transaction = redis.multi();
    for (const [field, count] of counts) transaction.hincrby(key, field, count);
    // An hour more than a chart shows.
    transaction.expireat(key, (minute + keptMinutes + 60) * 60);
    try {
      await transaction.exec();
    } catch (error) {
      // An unavailable Redis is logged once, by the gate.
      if (isCommandError(error) && isDue('refused'))
        log.error({ err: error }, 'Redis refuses the record of traffic');
    }
  }

  return {
    /** Counts, and reports what was counted if Redis is available. Never rejects. */
    async report(): Promise<void> {
      await count();
      if (!gate.open) return;
      const minutes = [...pending];
      pending.clear();
      await Promise.all(minutes.map(([minute, counts]) => send(minute, counts)));
    },
  };
}
