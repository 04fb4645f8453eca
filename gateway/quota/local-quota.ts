import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { Limits } from '../limits/limits.ts';
import { alignedLeftMs, windowLengthMs, windowNames, type WindowName } from '../limits/windows.ts';
import { decisionOf, type Allowed, type Limited } from './quota-decision.ts';

/** The library forgets counts by a timer, which has no more than 2^31 ms. */
const maxCountedMs = 24 * 86_400_000;

/**
 * Quotas during an outage of Redis, counted in memory by rate-limiter-flexible.
 * @param now Redis' clock: windows begin at multiples of their length by it, and so are the same on all instances
 */
export function createLocalQuota({ now }: { now: () => number }) {
  // The limiters only count. Limits differ from key to key, so they are compared here.
  const points = Number.MAX_SAFE_INTEGER;
  const counters = new Map<WindowName, RateLimiterMemory>();
  for (const name of windowNames) {
    const duration = Math.min(windowLengthMs(name, now()), maxCountedMs) / 1000;
    counters.set(name, new RateLimiterMemory({ points, duration }));
  }

  async function decide(customerId: string, limits: Limits, units: number): Promise<Allowed | Limited> {
    const nowMs = now();
    const counted = await Promise.all(
      Array.from(counters).flatMap(([name, counter]) => {
        const limit = limits[name];
        if (limit === undefined) return [];
        const leftMs = alignedLeftMs(name, nowMs);
        const window = `${customerId}:${nowMs + leftMs}`;
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
    return decisionOf(allowed, limits, { units, uses, nowMs });
  }

  let last: Promise<unknown> = Promise.resolve();
  return {
    /**
     * Decides without Redis: this process alone admits the whole limit. Windows go on when Redis is back, so that a Redis that
     * comes and goes does not grant the limit again each time.
     * @param units what the request costs
     */
    consume(customerId: string, limits: Limits, units = 1): Promise<Allowed | Limited> {
      // One after another: none sees what a refused one is about to give back.
      const decision = last.then(() => decide(customerId, limits, units));
      last = decision.catch(() => {});
      return decision;
    },
  };
}
