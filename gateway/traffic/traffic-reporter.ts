import { randomInt, randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { createLogThrottle } from '../observability/log-throttle.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isCommandError } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { createPendingTraffic } from './pending-traffic.ts';
import { groupByKey, tenSeconds, type TrafficBucket } from './traffic-buckets.ts';
import { countsSince, readTrafficCounters, type TrafficMetrics } from './traffic-counters.ts';
import { maxFields, requestsIn, type TrafficCounts } from './traffic-fields.ts';

/** Interval of the reports of a process. Bounds of buckets are multiples of it. */
export const reportMs = 5000;
/** Reports are spread over this time, because all processes count at the same moments. */
export const maxReportDelayMs = 1000;
/** Time that traffic is kept while Redis is unavailable. */
const maxPendingMs = tenSeconds.keptMs;
/** Longer than a report may be repeated. */
const reporterKeptSeconds = (2 * maxPendingMs) / 1000;
/** A timer may fire a little early: then the next interval is longer, instead of very short. */
const minimumIntervalMs = 1000;

export interface TrafficReporter {
  /** Reports what is left, if Redis is available, and stops. Never rejects. */
  close(): Promise<void>;
}

interface TrafficReporterDependencies {
  redis: RedisClient;
  /** Whether Redis is available. */
  isOpen: () => boolean;
  /** Redis' clock, so that all processes have the same buckets. */
  now: () => number;
  metrics: TrafficMetrics;
  log: Logger;
}

interface Report {
  /** Reports of a process are added in this order, each once. */
  number: number;
  buckets: TrafficBucket[];
}

/**
 * Adds the traffic of this process to the record of all gateways: every five seconds the difference of its counters, with
 * one command, whatever the load. Traffic of a process that is killed is lost since its last report.
 */
export function createTrafficReporter(dependencies: TrafficReporterDependencies): TrafficReporter {
  const { redis, isOpen, now, metrics, log } = dependencies;
  const reporterKey = redisKeys.trafficReporter(randomUUID());
  const delayMs = randomInt(maxReportDelayMs);
  const isDue = createLogThrottle();
  const pending = createPendingTraffic();
  let counted: TrafficCounts = new Map();
  let countedAtMs = performance.now();
  /** May have reached Redis already, so it must not change any more. */
  let unconfirmed: Report | undefined;
  let lastNumber = 0;
  let sending: Promise<boolean> | undefined;
  let dropping = false;
  let countTimer: NodeJS.Timeout;
  let sendTimer: NodeJS.Timeout | undefined;

  /** Moves what was counted since the last call to the bucket of the middle of that time. */
  async function count(): Promise<void> {
    const counts = await readTrafficCounters(metrics);
    const intervalMs = performance.now() - countedAtMs;
    countedAtMs += intervalMs;
    pending.add(now() - intervalMs / 2, countsSince(counted, counts));
    counted = counts;
    drop(now() - maxPendingMs);
  }

  function drop(beforeMs: number): void {
    let requests = pending.dropBefore(beforeMs);
    if (unconfirmed?.buckets.every(({ startMs }) => startMs < beforeMs) === true) {
      requests += requestsOf(unconfirmed);
      unconfirmed = undefined;
    }
    if (requests === 0 || dropping) return;
    dropping = true;
    log.warn('Redis has not taken the traffic of the last hour; the oldest is now missing in the record');
  }

  /** @returns whether a report was added. Never rejects */
  async function sendNext(): Promise<boolean> {
    if (unconfirmed === undefined) {
      const buckets = pending.take();
      if (buckets.length === 0) return false;
      unconfirmed = { number: (lastNumber += 1), buckets };
    }
    const { number, buckets } = unconfirmed;
    const groups = groupByKey(buckets);
    try {
      await redis.addTraffic(
        groups.length + 1,
        reporterKey,
        ...groups.map(({ key }) => key),
        number,
        reporterKeptSeconds,
        maxFields,
        ...groups.flatMap(({ expiresAtSeconds, counts }): (string | number)[] => {
          const head: (string | number)[] = [expiresAtSeconds, counts.size];
          return head.concat(...counts);
        }),
      );
      unconfirmed = undefined;
      dropping = false;
      return true;
    } catch (error) {
      // An unavailable Redis is logged once, by the gate.
      if (isCommandError(error) && isDue('refused')) {
        log.error({ err: error }, 'Redis refuses the record of traffic; retrying');
      }
      return false;
    }
  }

  /** One report at a time: a repeated one must not come after the next. */
  function send(): Promise<boolean> {
    sending ??= sendNext().finally(() => {
      sending = undefined;
    });
    return sending;
  }

  function countNext(): void {
    const untilBoundMs = reportMs - (now() % reportMs);
    const waitMs = untilBoundMs < minimumIntervalMs ? untilBoundMs + reportMs : untilBoundMs;
    countTimer = setTimeout(() => {
      countNext();
      void count();
      sendTimer = setTimeout(() => {
        if (isOpen()) void send();
      }, delayMs);
    }, waitMs);
  }
  countNext();

  return {
    async close() {
      clearTimeout(countTimer);
      clearTimeout(sendTimer);
      await sending;
      await count();
      while (isOpen() && (await send()));
      const requests = pending.requests() + (unconfirmed === undefined ? 0 : requestsOf(unconfirmed));
      if (requests > 0) log.warn({ requests }, 'requests are missing in the record of traffic');
    },
  };
}

function requestsOf({ buckets }: Report): number {
  return buckets.reduce((sum, { counts }) => sum + requestsIn(counts), 0);
}
