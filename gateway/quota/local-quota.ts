import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Limits } from '../plans/limits.ts';
import { decisionOf, type QuotaDecision } from './quota-decision.ts';
import { dayNumberOf } from './utc-day.ts';

export interface LocalQuota {
  /**
   * Decides without Redis: this instance admits its share of both limits. Windows go on when Redis is back, so that a Redis
   * that comes and goes does not grant a new share each time.
   * @param shares number of instances that share the limits
   */
  consume(keyHash: string, limits: Limits, shares: number): Promise<QuotaDecision>;
  /** Takes back one request that turned out to be counted in Redis. */
  giveBack(keyHash: string): Promise<void>;
}

const minuteSeconds = 60;
const daySeconds = 86_400;
const minuteMs = minuteSeconds * 1000;

/**
 * Quotas during an outage of Redis, counted in memory by rate-limiter-flexible.
 * @param now Redis' clock: windows are minutes and UTC days of it, and so the same on all instances
 */
export function createLocalQuota({ now }: { now: () => number }): LocalQuota {
  // The limiters only count. Limits differ from key to key, so they are compared here.
  const points = Number.MAX_SAFE_INTEGER;
  const minute = new RateLimiterMemory({ points, duration: minuteSeconds });
  const day = new RateLimiterMemory({ points, duration: daySeconds });

  return {
    async consume(keyHash, limits, shares) {
      const nowMs = now();
      const { thisMinute, today } = windowsAt(keyHash, nowMs);
      const share = (limit: number) => Math.max(1, Math.floor(limit / shares));
      const shared = { minute: share(limits.minute), day: share(limits.day) };
      const [minuteResult, dayResult] = await Promise.all([minute.penalty(thisMinute), day.penalty(today)]);
      const allowed = minuteResult.consumedPoints <= shared.minute && dayResult.consumedPoints <= shared.day;
      // A refused request uses no quota, here as in Redis.
      if (!allowed) await Promise.all([minute.reward(thisMinute), day.reward(today)]);
      return decisionOf(allowed, shared, {
        minuteUsed: minuteResult.consumedPoints - (allowed ? 0 : 1),
        minuteLeftMs: minuteMs - (nowMs % minuteMs),
        dayUsed: dayResult.consumedPoints - (allowed ? 0 : 1),
        nowMs,
      });
    },
    async giveBack(keyHash) {
      const { thisMinute, today } = windowsAt(keyHash, now());
      await Promise.all([takeOne(minute, thisMinute), takeOne(day, today)]);
    },
  };
}

/** Keys of the windows that are open at a time. */
const windowsAt = (keyHash: string, nowMs: number) => ({
  thisMinute: `${keyHash}:${Math.floor(nowMs / minuteMs)}`,
  today: `${keyHash}:${dayNumberOf(nowMs)}`,
});

async function takeOne(limiter: RateLimiterMemory, key: string): Promise<void> {
  const used = await limiter.get(key);
  // Not below zero: another window may have begun since.
  if (used !== null && used.consumedPoints > 0) await limiter.reward(key);
}
