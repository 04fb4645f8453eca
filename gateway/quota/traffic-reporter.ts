import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { Logger } from 'pino';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { isCommandError } from '../platform/redis/redis-errors.ts';
import { redisKeys } from '../platform/redis/redis-keys.ts';
import { countsSince, readTrafficCounts, type TrafficCounts } from './traffic-counts.ts';

/** Interval of the reports of a process. */
export const reportMs = 5000;
export const minuteMs = 60_000;
/** Minutes that the record goes back. */
export const keptMinutes = 24 * 60;
/** Minutes that are kept while Redis is unavailable. */
const maxPendingMinutes = 60;

export interface TrafficReporter {
  /** Reports what is left, if Redis is available, and stops. Never rejects. */
  close(): Promise<void>;
}

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
export function createTrafficReporter(dependencies: TrafficReporterDependencies): TrafficReporter {
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
    close() {
      clearInterval(timer);
      return report();
    },
  };
}
