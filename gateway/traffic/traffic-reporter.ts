import { randomInt } from 'node:crypto';
import type { Logger } from 'pino';
import type { RedisClient } from '../redis/redis-client.ts';
import type { TrafficMetrics } from './traffic-counters.ts';
import { createTrafficReports } from './traffic-reports.ts';

/** Interval of the reports of a process. Bounds of buckets are multiples of it. */
export const reportMs = 5000;
/** Reports are spread over this time, because all processes count at the same moments. */
export const maxReportDelayMs = 1000;
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

/**
 * Adds the traffic of this process to the record of all gateways: every five seconds the difference of its counters, with
 * one command, whatever the load. If the process is killed, its traffic since the last report is lost.
 */
export function createTrafficReporter(dependencies: TrafficReporterDependencies): TrafficReporter {
  const { isOpen, now, log } = dependencies;
  const reports = createTrafficReports(dependencies);
  const delayMs = randomInt(maxReportDelayMs);
  let countedAtMs = performance.now();
  let countTimer: NodeJS.Timeout;
  let sendTimer: NodeJS.Timeout | undefined;

  /** Counts what has come since the last call for the middle of that time. */
  async function count(): Promise<void> {
    const intervalMs = performance.now() - countedAtMs;
    countedAtMs += intervalMs;
    await reports.count(now() - intervalMs / 2);
  }

  function countNext(): void {
    const untilBoundMs = reportMs - (now() % reportMs);
    const waitMs = untilBoundMs < minimumIntervalMs ? untilBoundMs + reportMs : untilBoundMs;
    countTimer = setTimeout(() => {
      countNext();
      void count();
      sendTimer = setTimeout(() => {
        if (isOpen()) void reports.send();
      }, delayMs);
    }, waitMs);
  }
  countNext();

  return {
    async close() {
      clearTimeout(countTimer);
      clearTimeout(sendTimer);
      await count();
      // The first may be under way, with traffic from before.
      while (isOpen() && (await reports.send()));
      const requests = reports.pending();
      if (requests > 0) log.warn({ requests }, 'requests are missing in the record of traffic');
    },
  };
}
