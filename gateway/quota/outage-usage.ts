import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { dayMs, dayNumberOf, utcDate } from './utc-day.ts';

export interface DayUsage {
  /** Notes one request that was served while Redis was away. */
  add(sha: string): void;
  /** Requests noted and not yet known to be in Redis. */
  pending(): number;
  /**
   * Adds all that was noted to the day counters in Redis. Rejects where Redis goes away meanwhile: what it did
   * not acknowledge is kept and sent again under the same id, so that nothing is added twice.
   */
  report(): Promise<void>;
}

interface Report {
  /** Makes adding it again harmless. */
  id: string;
  sha: string;
  dayNumber: number;
  requests: number;
}

const batchSize = 500;

interface DayUsageDependencies {
  redis: RedisClient;
  log: Logger;
  now: () => number;
}

/** Requests served locally during an outage, by key and UTC day. */
export function createDayUsage({ redis, log, now }: DayUsageDependencies): DayUsage {
  const growing = new Map<string, Report>();
  /** May have reached Redis already, so they must not grow any more. */
  const sealed = new Set<Report>();

  async function send(report: Report): Promise<void> {
    const dayKey = redisKeys.day(report.sha, utcDate(report.dayNumber));
    // The counter that consume.lua makes lives as long.
    const expiresAtSeconds = (report.dayNumber + 2) * (dayMs / 1000);
    try {
      await redis.addDayUsage(
        dayKey,
        redisKeys.dayReport(report.sha, report.id),
        report.requests,
        expiresAtSeconds,
      );
    } catch (error) {
      if (!isUnusableCounter(error)) throw error;
      log.error(
        { err: error, key: dayKey, requests: report.requests },
        'Requests served without Redis are lost to the day counter: its value is not a number',
      );
    }
    sealed.delete(report);
  }

  return {
    add(sha) {
      const dayNumber = dayNumberOf(now());
      const key = `${sha}:${dayNumber}`;
      const report = growing.get(key);
      if (report === undefined) growing.set(key, { id: randomUUID(), sha, dayNumber, requests: 1 });
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
function isUnusableCounter(error: unknown): boolean {
  return (
    isWrongType(error) || (error instanceof Error && /not an integer|would overflow/.test(error.message))
  );
}
