import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { z } from 'zod';
import { dayNumberOf, utcDate } from '../limits/utc-day.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import {
  countRefusal,
  countRefused,
  formatRefusalRuns,
  refusalRun,
  type RefusalReason,
} from './refusal-runs.ts';
import type { LiveUsagePolicy } from './usage-policy.ts';

/** What this process counts of each key's use and adds to its record in Redis later. */
export interface UsageReports {
  /** Counts one request that was served while Redis was unavailable. @param units what it costs */
  addServed(keyHash: string, units?: number): void;
  /** Takes back one of these that Redis has counted as well. @param nowMs time at which Redis did */
  takeBackServed(keyHash: string, nowMs: number, units?: number): void;
  /** Counts one refused request. @param nowMs time of the decision */
  addRefused(keyHash: string, reason: RefusalReason, nowMs: number): void;
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
  keyHash: z.string().regex(/^[\da-f]{64}$/),
  dayNumber: z.int().min(0),
  /** Negative if more were taken back than added since the last report. */
  served: z.int(),
  /** What these cost, beyond one for each. */
  beyond: z.int(),
  refusals: z.array(refusalRun),
  /** Set when it is sent, and greater than that of the key's report before. */
  number: z.int().min(1),
});

type Report = z.infer<typeof reportSchema>;

/** Reports of a process that has ended. With its id and their numbers, Redis knows which of them it has. */
export const unsentUsage = z.object({ processId: z.uuid(), reports: z.array(reportSchema) });

export type UnsentUsage = z.infer<typeof unsentUsage>;

/** How long Redis knows which reports of an ended process it has: the rest may have to wait for the end of an outage. */
const endedMarkSeconds = 30 * 86_400;
const batchSize = 500;
/** A key has a report for each of two days at most, except in an outage over midnight. */
const maxRounds = 3;
/** Refused requests of further keys are not counted until the next report, so that memory stays bounded. */
const maxRefusedKeys = 50_000;

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
  /** Reports that may have reached Redis already, so they must not grow. At most one of each key, to keep their order. */
  const sealed = new Map<string, Report>();

  function reportOf(keyHash: string, dayNumber: number): Report {
    const key = `${keyHash}:${dayNumber}`;
    let report = growing.get(key);
    if (report === undefined) {
      report = { keyHash, dayNumber, served: 0, beyond: 0, refusals: [], number: 0 };
      growing.set(key, report);
    }
    return report;
  }

  function giveNumber(report: Report): void {
    if (report.number > 0) return;
    lastNumber += 1;
    report.number = lastNumber;
  }

  /** @returns whether a key has another report that has to wait */
  function seal(): boolean {
    let waiting = false;
    for (const [key, report] of growing) {
      if (isEmpty(report)) {
        growing.delete(key);
        continue;
      }
      if (sealed.has(report.keyHash)) {
        waiting = true;
        continue;
      }
      giveNumber(report);
      sealed.set(report.keyHash, report);
      growing.delete(key);
    }
    return waiting;
  }

  async function send(report: Report): Promise<void> {
    const { keyHash, dayNumber, number, served, beyond, refusals } = report;
    const refused = countRefused(refusals);
    const { retentionDays } = usagePolicy.current();
    const units = served + beyond;
    const markSeconds = ended === undefined ? 86_400 : endedMarkSeconds;
    const runs = formatRefusalRuns(refusals);
    const args = [number, dayNumber, units, refused, retentionDays, runs, markSeconds, beyond];
    try {
      await redis.addUsage(redisKeys.dayReport(keyHash, processId), redisKeys.dayPrefix(keyHash), ...args);
    } catch (error) {
      if (!isInvalidCounter(error)) throw error;
      log.error(
        { err: error, key: redisKeys.day(keyHash, utcDate(dayNumber)), requests: served, refused },
        'requests served without Redis are lost to the day counter: its value is not a number',
      );
    }
    // Another call may have sent it, too, and sealed the next one since.
    if (sealed.get(keyHash) === report) sealed.delete(keyHash);
  }

  async function sendSealed(): Promise<void> {
    const reports = [...sealed.values()];
    for (let start = 0; start < reports.length; start += batchSize) {
      await Promise.all(reports.slice(start, start + batchSize).map(send));
    }
  }

  return {
    addServed(keyHash, units = 1) {
      add(reportOf(keyHash, dayNumberOf(now())), 1, units);
    },
    takeBackServed(keyHash, nowMs, units = 1) {
      add(reportOf(keyHash, dayNumberOf(nowMs)), -1, -units);
    },
    addRefused(keyHash, reason, nowMs) {
      const dayNumber = dayNumberOf(nowMs);
      if (growing.size + sealed.size >= maxRefusedKeys && !growing.has(`${keyHash}:${dayNumber}`)) return;
      countRefusal(reportOf(keyHash, dayNumber).refusals, reason, nowMs);
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
