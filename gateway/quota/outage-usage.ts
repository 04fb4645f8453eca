import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { dayMs, dayNumberOf, utcDate } from './utc-day.ts';

export interface OutageUsage {
  /** Counts one request that was served while Redis was unavailable. */
  add(keyHash: string): void;
  /** Number of requests that are not known to be in Redis. */
  pending(): number;
  /**
   * Adds all counts to the day counters in Redis. Rejects if Redis becomes unavailable: what it did not acknowledge is
   * kept and sent again under the same id, so that nothing is added twice.
   */
  report(): Promise<void>;
}

interface Report {
  /** Makes it harmless to add the report again. */
  id: string;
  keyHash: string;
  dayNumber: number;
  requests: number;
}

const batchSize = 500;

interface OutageUsageDependencies {
  redis: RedisClient;
  log: Logger;
  now: () => number;
}

/** Requests served locally during an outage of Redis, by key and UTC day. */
export function createOutageUsage({ redis, log, now }: OutageUsageDependencies): OutageUsage {
  const growing = new Map<string, Report>();
  /** Reports that may have reached Redis already, so they must not grow any more. */
  const sealed = new Set<Report>();

  async function send(report: Report): Promise<void> {
    const dayKey = redisKeys.day(report.keyHash, utcDate(report.dayNumber));
    // The same expiry as in consume.lua.
    const expiresAtSeconds = (report.dayNumber + 2) * (dayMs / 1000);
    try {
      await redis.addDayUsage(
        dayKey,
        redisKeys.dayReport(report.keyHash, report.id),
        report.requests,
        expiresAtSeconds,
      );
    } catch (error) {
      if (!isInvalidCounter(error)) throw error;
      log.error(
        { err: error, key: dayKey, requests: report.requests },
        'requests served without Redis are lost to the day counter: its value is not a number',
      );
    }
    sealed.delete(report);
  }

  return {
    add(keyHash) {
      const dayNumber = dayNumberOf(now());
      const key = `${keyHash}:${dayNumber}`;
      const report = growing.get(key);
      if (report === undefined) growing.set(key, { id: randomUUID(), keyHash, dayNumber, requests: 1 });
      else report.requests += 1;
    },
    pending: () =>
      [...growing.values(), ...sealed].reduce((requests, report) => requests + report.requests, 0),
    async report() {
      for (const report of growing.values()) sealed.add(report);
      growing.clear();
      const reports = [...sealed];
      for (let start = 0; start < reports.length; start += batchSize) {
        await Promise.all(reports.slice(start, start + batchSize).map(send));
      }
    },
  };
}

/** The counter was edited into something that nothing can be added to. */
function isInvalidCounter(error: unknown): boolean {
  return (
    isWrongType(error) || (error instanceof Error && /not an integer|would overflow/.test(error.message))
  );
}
