import { randomUUID } from 'node:crypto';
import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { Logger } from 'pino';
import type { RedisClient } from '../redis/redis-client.ts';
import { isCommandError } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { createPendingTraffic } from './pending-traffic.ts';
import { groupByKey, tenSeconds, type TrafficBucket } from './traffic-buckets.ts';
import { countsSince, readTrafficCounters, type TrafficMetrics } from './traffic-counters.ts';
import { maxFields, requestsIn, type TrafficCounts } from './traffic-fields.ts';

/** The traffic of this process on its way into the record. */
export interface TrafficReports {
  /**
   * Takes over what was counted since the last call, and drops what has waited for an hour.
   * @param atMs the time that it belongs to, in Unix milliseconds by Redis' clock
   */
  count(atMs: number): Promise<void>;
  /**
   * Adds the oldest traffic to the record with one command. Never rejects: what Redis does not confirm is kept and sent
   * again under the same number, so that nothing is added twice.
   * @returns whether something was added
   */
  send(): Promise<boolean>;
  /** Number of requests that are not known to be in the record. */
  pending(): number;
}

interface TrafficReportsDependencies {
  redis: RedisClient;
  metrics: TrafficMetrics;
  log: Logger;
}

interface Report {
  /** Reports of a process are added in this order, each once. */
  number: number;
  buckets: TrafficBucket[];
}

/** Time that traffic is kept while Redis is unavailable. */
const maxPendingMs = tenSeconds.keptMs;
/** Longer than a report may be repeated. */
const reporterKeptSeconds = (2 * maxPendingMs) / 1000;

export function createTrafficReports({ redis, metrics, log }: TrafficReportsDependencies): TrafficReports {
  const reporterKey = redisKeys.trafficReporter(randomUUID());
  const isDue = createLogThrottle();
  const waiting = createPendingTraffic();
  let counted: TrafficCounts = new Map();
  /** May have reached Redis already, so it must not change any more. */
  let unconfirmed: Report | undefined;
  let lastNumber = 0;
  let sending: Promise<boolean> | undefined;
  let dropping = false;

  function dropBefore(ms: number): void {
    let dropped = waiting.dropBefore(ms);
    if (unconfirmed?.buckets.every(({ startMs }) => startMs < ms) === true) {
      dropped += requestsOf(unconfirmed);
      unconfirmed = undefined;
    }
    if (dropped === 0 || dropping) return;
    dropping = true;
    log.warn('the record of traffic lacks the oldest minutes: Redis has taken no report for an hour');
  }

  async function sendNext(): Promise<boolean> {
    if (unconfirmed === undefined) {
      const buckets = waiting.take();
      if (buckets.length === 0) return false;
      unconfirmed = { number: (lastNumber += 1), buckets };
    }
    const groups = groupByKey(unconfirmed.buckets);
    try {
      await redis.addTraffic(
        groups.length + 1,
        reporterKey,
        ...groups.map(({ key }) => key),
        unconfirmed.number,
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

  return {
    async count(atMs) {
      const counts = await readTrafficCounters(metrics);
      waiting.add(atMs, countsSince(counted, counts));
      counted = counts;
      dropBefore(atMs - maxPendingMs);
    },
    send() {
      // One at a time: a repeated report must not come after the next.
      sending ??= sendNext().finally(() => {
        sending = undefined;
      });
      return sending;
    },
    pending: () => waiting.requests() + (unconfirmed === undefined ? 0 : requestsOf(unconfirmed)),
  };
}

function requestsOf({ buckets }: Report): number {
  return buckets.reduce((sum, { counts }) => sum + requestsIn(counts), 0);
}
