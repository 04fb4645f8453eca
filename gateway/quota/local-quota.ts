import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Limits } from '../limits/limits.ts';
import {
  alignedLeftMs,
  mapWindows,
  windowLengthMs,
  windowNames,
  type WindowName,
} from '../limits/windows.ts';
import { decisionOf, type QuotaDecision } from './quota-decision.ts';

export interface LocalQuota {
  /**
   * Decides without Redis: this instance admits its share of each limit. Windows go on when Redis is back, so that a Redis
   * that comes and goes does not grant a new share each time. A share suffices for one request, if the limit does.
   * @param shares number of instances that share the limits
   * @param units what the request costs
   */
  consume(customerId: string, limits: Limits, shares: number, units?: number): Promise<QuotaDecision>;
  /** Takes back a request that turned out to be counted in Redis. */
  giveBack(customerId: string, units?: number): Promise<void>;
}

/** The library forgets counts by a timer, which has no more than 2^31 ms. */
const maxCountedMs = 24 * 86_400_000;

/**
 * Quotas during an outage of Redis, counted in memory by rate-limiter-flexible.
 * @param now Redis' clock: windows begin at multiples of their length by it, and so are the same on all instances
 */
export function createLocalQuota({ now }: { now: () => number }): LocalQuota {
  // The limiters only count. Limits differ from key to key, so they are compared here.
  const points = Number.MAX_SAFE_INTEGER;
  const counters = new Map<WindowName, RateLimiterMemory>();
  for (const name of windowNames) {
    const duration = Math.min(windowLengthMs(name, now()), maxCountedMs) / 1000;
    counters.set(name, new RateLimiterMemory({ points, duration }));
  }

  return {
    async consume(customerId, limits, shares, units = 1) {
      const nowMs = now();
      const shared = mapWindows(limits, (limit) =>
        Math.max(Math.min(units, limit), Math.floor(limit / shares)),
      );
      const counted = await Promise.all(
        Array.from(counters).flatMap(([name, counter]) => {
          const limit = shared[name];
          if (limit === undefined) return [];
          const { leftMs, window } = windowAt(name, customerId, nowMs);
          return [
            counter
              .penalty(window, units)
              .then(({ consumedPoints }) => ({ name, counter, window, limit, leftMs, used: consumedPoints })),
          ];
        }),
      );
      const allowed = counted.every(({ used, limit }) => used <= limit);
      // A refused request uses no quota, here as in Redis.
      if (!allowed) await Promise.all(counted.map(({ counter, window }) => counter.reward(window, units)));
      const uses = Object.fromEntries(
        counted.map(({ name, used, leftMs }) => [name, { used: used - (allowed ? 0 : units), leftMs }]),
      );
      return decisionOf(allowed, shared, { units, uses, nowMs });
    },
    async giveBack(customerId, units = 1) {
      const nowMs = now();
      await Promise.all(
        Array.from(counters, ([name, counter]) =>
          take(counter, windowAt(name, customerId, nowMs).window, units),
        ),
      );
    },
  };
}

/** The window that is open at a time: its end, and its key in a counter. */
function windowAt(name: WindowName, customerId: string, nowMs: number) {
  const leftMs = alignedLeftMs(name, nowMs);
  return { leftMs, window: `${customerId}:${nowMs + leftMs}` };
}

async function take(limiter: RateLimiterMemory, key: string, units: number): Promise<void> {
  const used = await limiter.get(key);
  // Not below zero: another window may have begun since.
  const taken = Math.min(units, used?.consumedPoints ?? 0);
  if (taken > 0) await limiter.reward(key, taken);
}
