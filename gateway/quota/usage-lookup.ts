import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { GatewayError } from '../errors.ts';
import type { Caller } from '../keys/api-key-cache.ts';
import { dayNumberOf } from '../limits/utc-day.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { RedisUnavailable, type RedisGate } from '../platform/redis/redis-gate.ts';
import { strikesBeforeBan, type LiveBanPolicy } from './ban-policy.ts';
import type { Plans } from './plans.ts';
import { knownLimits } from './quota-decision.ts';
import { lookupLimitHeaders } from './rate-limit-headers.ts';
import { readUsageDays, type DayUsage } from './usage-days.ts';
import type { LiveUsagePolicy } from './usage-policy.ts';
import { readUsage, type Usage } from './usage.ts';

/** What the owner of a key sees of its use. */
export interface LookedUpUsage extends Usage {
  /** Strikes that lead to a ban; null if bans are disabled. */
  strikesToBan: number | null;
  /** Present if a number of days was asked for. */
  days?: DayUsage[];
}

/**
 * @param days number of days, today included
 * @returns undefined if the caller's record has changed since it was read
 * @throws GatewayError rate_limit_exceeded after too many look-ups, service_unavailable while Redis is unavailable
 */
export type LookUpUsage = (caller: Caller, days?: number) => Promise<LookedUpUsage | undefined>;

interface UsageLookupDependencies {
  redis: RedisClient;
  gate: RedisGate;
  plans: Plans;
  banPolicy: LiveBanPolicy;
  usagePolicy: LiveUsagePolicy;
  now: () => number;
}

/** Limit of each key on each instance: a look-up costs no quota, so something else has to bound its cost. */
const lookupsPerSecond = 10;

/**
 * Reads a key's usage for its owner, by one Redis command, which also confirms the record, and one for all months.
 */
export function createUsageLookup(dependencies: UsageLookupDependencies): LookUpUsage {
  const { redis, gate, plans, banPolicy, usagePolicy, now } = dependencies;
  const lookups = new RateLimiterMemory({ points: lookupsPerSecond, duration: 1 });

  async function countLookup(keyHash: string): Promise<void> {
    try {
      await lookups.consume(keyHash);
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      const window = { limit: lookupsPerSecond, remaining: 0, resetMs: error.msBeforeNext };
      throw new GatewayError('rate_limit_exceeded', {
        message: `Usage can be read ${lookupsPerSecond} times a second.`,
        headers: lookupLimitHeaders(window, now()),
      });
    }
  }

  async function read(caller: Caller, days: number): Promise<LookedUpUsage | undefined> {
    const { customerId, rev } = caller;
    const limits = knownLimits(plans, caller);
    const policy = banPolicy.current();
    const read = await gate.send(() => readUsage(redis, { place: caller, rev, limits, banPolicy: policy }));
    if (read === undefined) return undefined;
    const usage = { ...read, strikesToBan: strikesBeforeBan(policy, limits.minute) };
    if (days === 0) return usage;
    const today = dayNumberOf(usage.nowMs);
    const oldest = today - usagePolicy.current().retentionDays;
    const range = { first: today - days + 1, last: today, oldest };
    return { ...usage, days: await gate.send(() => readUsageDays(redis, customerId, range)) };
  }

  return async function lookUpUsage(caller, days = 0) {
    await countLookup(caller.keyHash);
    try {
      return await read(caller, days);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      const headers = error instanceof RedisUnavailable ? { 'Retry-After': '1' } : {};
      throw new GatewayError('service_unavailable', { cause: error, headers });
    }
  };
}
