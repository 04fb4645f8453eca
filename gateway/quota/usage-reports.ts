import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import { dayNumberOf, utcDate } from '../limits/utc-day.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { isCustomerId, redisKeys, type CustomerId } from '../redis/redis-keys.ts';
import {
  countRefusal,
  countRefused,
  formatRefusalRuns,
  refusalRun,
  type RefusalReason,
} from './refusal-runs.ts';
import type { LiveUsagePolicy } from './usage-policy.ts';

/** What this process counts of each customer's use and adds to its record in Redis later. */
export interface UsageReports {
  /** Counts one request that was served while Redis was unavailable. @param units what it costs */
  addServed(customerId: CustomerId, units?: number): void;
  /** Takes back one of these that Redis has counted as well. @param nowMs time at which Redis did */
  takeBackServed(customerId: CustomerId, nowMs: number, units?: number): void;
  /** Counts one refused request. @param nowMs time of the decision */
  addRefused(customerId: CustomerId, reason: RefusalReason, nowMs: number): void;
  /** Number of served requests that are not known to be in Redis. */
  pending(): number;
  /**
   * Adds all counts to the record in Redis. Rejects if Redis becomes unavailable: what it did not acknowledge is kept and
   * sent again under the same number, so that nothing is added twice.
   */
  report(): Promise<void>;
  /** What is not known to be in Redis, for another process to report; undefined if there is nothing. Ends the counting. */
  unsent(): UnsentUsage | undefined;
}

const reportSchema = z.object({
  customerId: z.string().refine(isCustomerId),
  dayNumber: z.int().min(0),
  /** Negative if more were taken back than added since the last report. */
  served: z.int(),
  /** What these cost, beyond one for each. */
  beyond: z.int(),
  refusals: z.array(refusalRun),
  /** Set when it is sent, and greater than that of the customer's report before. */
  number: z.int().min(1),
});

type Report = z.infer<typeof reportSchema>;

/** Reports of a process that has ended. With its id and their numbers, Redis knows which of them it has. */
export const unsentUsage = z.object({ processId: z.uuid(), reports: z.array(reportSchema) });

export type UnsentUsage = z.infer<typeof unsentUsage>;

/** How long Redis knows which reports of an ended process it has: the rest may have to wait for the end of an outage. */
const endedMarkSeconds = 30 * 86_400;
const batchSize = 500;
/** A customer has a report for each of two days at most, except in an outage over midnight. */
const maxRounds = 3;
/** Refused requests of further customers are not counted until the next report, so that memory stays bounded. */
const maxRefusedCustomers = 50_000;

interface UsageReportsDependencies {
  redis: RedisClient;
  usagePolicy: Pick<LiveUsagePolicy, 'current'>;
  log: Logger;
  now: () => number;
  /** What another process has left. */
  ended?: UnsentUsage;
}

export function createUsageReports(dependencies: UsageReportsDependencies): UsageReports {
  const { redis, usagePolicy, log, now, ended } = dependencies;
  const processId = ended?.processId ?? randomUUID();
  let lastNumber = 0;
  const growing = new Map<string, Report>(ended?.reports.map((report) => [String(report.number), report]));
  /** Reports that may have reached Redis already, so they must not grow. At most one of each customer, to keep their order. */
  const sealed = new Map<string, Report>();

  function reportOf(customerId: CustomerId, dayNumber: number): Report {
    const key = `${customerId}:${dayNumber}`;
    let report = growing.get(key);
    if (report === undefined) {
      report = { customerId, dayNumber, served: 0, beyond: 0, refusals: [], number: 0 };
      growing.set(key, report);
    }
    return report;
  }

  function giveNumber(report: Report): void {
    if (report.number > 0) return;
    lastNumber += 1;
    report.number = lastNumber;
  }

  /** @returns whether a customer has another report that has to wait */
  function seal(): boolean {
    let waiting = false;
    for (const [key, report] of growing) {
      if (isEmpty(report)) {
        growing.delete(key);
        continue;
      }
      if (sealed.has(report.customerId)) {
        waiting = true;
        continue;
      }
      giveNumber(report);
      sealed.set(report.customerId, report);
      growing.delete(key);
    }
    return waiting;
  }

  async function send(report: Report): Promise<void> {
    const { customerId, dayNumber, number, served, beyond, refusals } = report;
    const refused = countRefused(refusals);
    const { retentionDays } = usagePolicy.current();
    const units = served + beyond;
    const markSeconds = ended === undefined ? 86_400 : endedMarkSeconds;
    const runs = formatRefusalRuns(refusals);
    const args = [number, dayNumber, units, refused, retentionDays, runs, markSeconds, beyond];
    try {
      await redis.addUsage(
        redisKeys.dayReport(customerId, processId),
        redisKeys.dayPrefix(customerId),
        ...args,
      );
    } catch (error) {
      if (!isInvalidCounter(error)) throw error;
      log.error(
        { err: error, key: redisKeys.day(customerId, utcDate(dayNumber)), requests: served, refused },
        'requests served without Redis are lost to the day counter: its value is not a number',
      );
    }
    // Another call may have sent it, too, and sealed the next one since.
    if (sealed.get(customerId) === report) sealed.delete(customerId);
  }

  async function sendSealed(): Promise<void> {
    const reports = [...sealed.values()];
    for (let start = 0; start < reports.length; start += batchSize) {
      await Promise.all(reports.slice(start, start + batchSize).map(send));
    }
  }

  return {
    addServed(customerId, units = 1) {
      add(reportOf(customerId, dayNumberOf(now())), 1, units);
    },
    takeBackServed(customerId, nowMs, units = 1) {
      add(reportOf(customerId, dayNumberOf(nowMs)), -1, -units);
    },
    addRefused(customerId, reason, nowMs) {
      const dayNumber = dayNumberOf(nowMs);
      if (growing.size + sealed.size >= maxRefusedCustomers && !growing.has(`${customerId}:${dayNumber}`))
        return;
      countRefusal(reportOf(customerId, dayNumber).refusals, reason, nowMs);
    },
    pending: () =>
      [...growing.values(), ...sealed.values()].reduce((sum, { served }) => sum + Math.max(0, served), 0),
    async report() {
      for (let round = 0; round < maxRounds; round += 1) {
        const waiting = seal();
        await sendSealed();
        if (!waiting) return;
      }
    },
    unsent() {
      const reports = [...sealed.values(), ...growing.values()].filter((report) => !isEmpty(report));
      for (const report of reports) giveNumber(report);
      return reports.length === 0 ? undefined : { processId, reports };
    },
  };
}

function add(report: Report, served: number, units: number): void {
  report.served += served;
  report.beyond += units - served;
}

const isEmpty = ({ served, beyond, refusals }: Report) =>
  served === 0 && beyond === 0 && refusals.length === 0;

/** The counter was edited into something that nothing can be added to. */
function isInvalidCounter(error: unknown): boolean {
  return (
    isWrongType(error) || (error instanceof Error && /not an integer|would overflow/.test(error.message))
  );
}
