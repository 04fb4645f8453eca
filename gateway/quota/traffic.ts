import type { Counter } from '@prometheus-io/client';
import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { Logger } from 'pino';
import type { Metrics } from '../platform/observability/metrics.ts';
import { bucketCounts } from '../platform/observability/request-metrics.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { isCommandError } from '../platform/redis/redis-errors.ts';
import { redisKeys } from '../platform/redis/redis-keys.ts';

/**
 * Counts of a time span by field, as a minute of the record has them: requests by class of status and plan (`2xx:free`),
 * requests over a limit or during a ban by plan (`refused:free`), and served requests by the upper bound of their duration in
 * milliseconds (`ms:2.5`, `ms:inf`).
 */
export type TrafficCounts = Map<string, number>;

/** Reads what this process has counted since its start, so that the record costs no request anything. */
export async function readTrafficCounts(
  metrics: Pick<Metrics, 'requests' | 'quotaRefusals' | 'bannedRequests'>,
): Promise<TrafficCounts> {
  const counts: TrafficCounts = new Map();
  const add = (field: string, count: number) => {
    if (count > 0) counts.set(field, (counts.get(field) ?? 0) + count);
  };
  const { requests, seconds } = metrics.requests;
  for (const { labels, value } of await countsOf(requests))
    add(`${labels['status']}:${labels['plan']}`, value);
  for (const { bound, count } of await bucketCounts(seconds)) add(`ms:${formatBound(bound)}`, count);
  for (const counter of [metrics.quotaRefusals, metrics.bannedRequests]) {
    for (const { labels, value } of await countsOf(counter)) add(`refused:${labels['plan']}`, value);
  }
  return counts;
}

/** The library's own type of labels allows only one of several. */
async function countsOf<Label extends string>(
  counter: Counter<Label>,
): Promise<{ labels: Partial<Record<string, string | number>>; value: number }[]> {
  return (await counter.get()).values;
}

/** Counts that were added since the earlier reading. */
export function countsSince(earlier: TrafficCounts | undefined, counts: TrafficCounts): TrafficCounts {
  const added = Array.from(counts, ([field, count]): [string, number] => [
    field,
    count - (earlier?.get(field) ?? 0),
  ]);
  return new Map(added.filter(([, count]) => count > 0));
}

/** Splits a field. A name, such as that of a plan, may have further colons. */
export function parseField(field: string): [kind: string, name: string] {
  const colon = field.indexOf(':');
  return [field.slice(0, colon), field.slice(colon + 1)];
}

/** @param seconds upper bound of a duration */
export function formatBound(seconds: number): string {
  return seconds === Infinity ? 'inf' : String(Math.round(seconds * 1e6) / 1000);
}

/** @returns the upper bound in milliseconds */
export function parseBound(name: string): number {
  return name === 'inf' ? Infinity : Number(name);
}

/** Interval of the reports of a process. */
export const reportMs = 5000;
export const minuteMs = 60_000;
/** Minutes that the record goes back. */
export const keptMinutes = 24 * 60;
/** Minutes that are kept while Redis is unavailable. */
const maxPendingMinutes = 60;

interface TrafficReporterDependencies {
  redis: RedisClient;
  /** Whether Redis is available. */
  isOpen: () => boolean;
  /** Redis' clock, so that all processes have the same minutes. */
  now: () => number;
  metrics: Parameters<typeof readTrafficCounts>[0];
  log: Logger;
}

/**
 * Adds the traffic of this process to the record of all gateways: every five seconds the difference of its counters. What
 * Redis does not confirm is not sent again, so that the chart may lack it, but never has it twice.
 */
export function createTrafficReporter(dependencies: TrafficReporterDependencies) {
  const { redis, isOpen, now, metrics, log } = dependencies;
  const isDue = createLogThrottle();
  /** By number of the minute since the Unix epoch. */
  const pending = new Map<number, TrafficCounts>();
  let counted: TrafficCounts = new Map();

  async function count(): Promise<void> {
    const counts = await readTrafficCounts(metrics);
    const added = countsSince(counted, counts);
    counted = counts;
    const minute = Math.floor(now() / minuteMs);
    if (added.size > 0) {
      const sums = pending.get(minute) ?? new Map<string, number>();
      for (const [field, count] of added) sums.set(field, (sums.get(field) ?? 0) + count);
      pending.set(minute, sums);
    }
    for (const old of pending.keys()) if (old <= minute - maxPendingMinutes) pending.delete(old);
  }

  async function send(minute: number, counts: TrafficCounts): Promise<void> {
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

  async function report(): Promise<void> {
    await count();
    if (!isOpen()) return;
    const minutes = [...pending];
    pending.clear();
    await Promise.all(minutes.map(([minute, counts]) => send(minute, counts)));
  }

  const timer = setInterval(() => void report(), reportMs);
  return {
    /** Reports what is left, if Redis is available, and stops. Never rejects. */
    close(): Promise<void> {
      clearInterval(timer);
      return report();
    },
  };
}
