import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Limits } from '../plans/limits.ts';
import { windowsDecision, type QuotaDecision } from './quota-decision.ts';
import { dayNumberOf } from './utc-day.ts';

export interface LocalQuota {
  /**
   * Decides without Redis: this instance admits its share of both limits, in windows of its own. They go on
   * when Redis is back, so that one that comes and goes does not hand out a new share each time.
   * @param shares number of instances among which the limits are divided
   */
  consume(sha: string, limits: Limits, shares: number): Promise<QuotaDecision>;
}

const minuteSeconds = 60;
const daySeconds = 86_400;

/** Quotas while Redis is away, counted by rate-limiter-flexible in memory. */
export function createLocalQuota({ now }: { now: () => number }): LocalQuota {
  // They only count: limits differ from key to key, so they are compared here.
  const points = Number.MAX_SAFE_INTEGER;
  const minute = new RateLimiterMemory({ points, duration: minuteSeconds });
  const day = new RateLimiterMemory({ points, duration: daySeconds });
  return {
    async consume(sha, limits, shares) {
      // The day begins at midnight UTC, and not with the key's first request.
      const today = `${sha}:${dayNumberOf(now())}`;
      const share = (limit: number) => Math.max(1, Math.floor(limit / shares));
      const shared = { minute: share(limits.minute), day: share(limits.day) };
      const [ofMinute, ofDay] = await Promise.all([minute.penalty(sha), day.penalty(today)]);
      const allowed = ofMinute.consumedPoints <= shared.minute && ofDay.consumedPoints <= shared.day;
      // A refused request burns no quota, here as in Redis.
      if (!allowed) await Promise.all([minute.reward(sha), day.reward(today)]);
      return windowsDecision(allowed, shared, {
        minuteUsed: ofMinute.consumedPoints - (allowed ? 0 : 1),
        minuteLeftMs: ofMinute.msBeforeNext,
        dayUsed: ofDay.consumedPoints - (allowed ? 0 : 1),
        nowMs: now(),
      });
    },
  };
}
