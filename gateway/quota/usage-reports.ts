import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { dayNumberOf, utcDate } from '../limits/windows.ts';
import { isCommandError } from '../platform/redis/redis-errors.ts';
import { redisKeys, type CustomerId } from '../platform/redis/redis-keys.ts';
import type { CurrentDecision } from './quota-decision.ts';
import type { CountingDependencies } from './use-counts.ts';

/** What was counted of a customer on one day. */
interface Report {
  customerId: CustomerId;
  dayNumber: number;
  served: number;
  /** What these cost, beyond one for each. */
  beyond: number;
  refused: number;
  /** Set when it is sent, and greater than that of the report before. */
  number: number;
}

const batchSize = 500;
/** Refused requests of further customers are not counted until the next report, so that memory stays bounded. */
const maxRefusedCustomers = 50_000;

interface UsageReportsDependencies extends CountingDependencies {
  log: Logger;
}

/** What this process counts of each customer's use and adds to its record in Redis later. */
export function createUsageReports({ redis, usagePolicy, log, now }: UsageReportsDependencies) {
  const processId = randomUUID();
  let lastNumber = 0;
  /** By customer and day. */
  const growing = new Map<string, Report>();
  /** Reports that may have reached Redis already, so they must not grow. */
  const sealed = new Map<string, Report>();

  function reportOf(customerId: CustomerId, dayNumber: number): Report {
    const key = `${customerId}:${dayNumber}`;
    let report = growing.get(key);
    if (report === undefined) {
      report = { customerId, dayNumber, served: 0, beyond: 0, refused: 0, number: 0 };
      growing.set(key, report);
    }
    return report;
  }

  function addRefused(customerId: CustomerId, dayNumber: number): void {
    if (growing.size + sealed.size >= maxRefusedCustomers && !growing.has(`${customerId}:${dayNumber}`))
      return;
    reportOf(customerId, dayNumber).refused += 1;
  }

  function seal(): void {
    for (const [key, report] of growing) {
      if (sealed.has(key)) continue;
      lastNumber += 1;
      report.number = lastNumber;
      sealed.set(key, report);
      growing.delete(key);
    }
  }

  async function send(key: string, report: Report): Promise<void> {
    const { customerId, dayNumber, number, served, refused, beyond } = report;
    const { retentionDays } = usagePolicy.current();
    const args = [number, dayNumber, served + beyond, refused, retentionDays, beyond];
    try {
      await redis.addUsage(
        redisKeys.dayReport(customerId, `${processId}:${dayNumber}`),
        redisKeys.usagePrefix(customerId),
        ...args,
      );
    } catch (error) {
      if (!isCommandError(error)) throw error;
      log.error(
        {
          err: error,
          key: redisKeys.usageMonth(customerId, utcDate(dayNumber).slice(0, 6)),
          requests: served,
          refused,
        },
        'Redis refuses the report of use, which is lost',
      );
    }
    // Another call may have sent it, too, and sealed the next one since.
    if (sealed.get(key) === report) sealed.delete(key);
  }

  async function sendSealed(): Promise<void> {
    const reports = [...sealed];
    for (let start = 0; start < reports.length; start += batchSize) {
      await Promise.all(reports.slice(start, start + batchSize).map(([key, report]) => send(key, report)));
    }
  }

  const all = () => [...growing.values(), ...sealed.values()];

  return {
    /** Counts what Redis has not: refused requests, and those that were served while it was unavailable. */
    count(
      { customerId }: { customerId: CustomerId },
      decision: Pick<CurrentDecision, 'outcome'> & { isLocal?: true; nowMs: number },
      units: number,
    ): void {
      if (decision.outcome !== 'allowed') addRefused(customerId, dayNumberOf(decision.nowMs));
      else if (decision.isLocal) {
        const report = reportOf(customerId, dayNumberOf(now()));
        report.served += 1;
        report.beyond += units - 1;
      }
    },
    /** Number of served requests that are not known to be in Redis. */
    pending: () => all().reduce((sum, { served }) => sum + served, 0),
    /**
     * Adds all counts to the record in Redis. Rejects if Redis becomes unavailable: what it did not acknowledge is kept and
     * sent again under the same number, so that nothing is added twice.
     */
    async report(): Promise<void> {
      seal();
      await sendSealed();
      // What had to wait for a report that was sent before.
      seal();
      await sendSealed();
    },
    /** Logs the served requests that are not known to be in Redis, at the end of the process: they are kept nowhere else. */
    logPending(): void {
      for (const { customerId, dayNumber, served } of all()) {
        if (served === 0) continue;
        log.error(
          { customerId, day: utcDate(dayNumber), requests: served },
          'requests served without Redis are not counted: the process ends before Redis is back',
        );
      }
    },
  };
}
