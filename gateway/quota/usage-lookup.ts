import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Caller } from '../api-keys/api-key-cache.ts';
import { GatewayError } from '../errors.ts';
import type { Plans } from '../plans/plans.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { RedisUnavailable, type RedisGate } from '../redis/redis-gate.ts';
import type { LiveBanPolicy } from './ban-policy.ts';
import { knownLimits } from './known-limits.ts';
import { lookupLimitHeaders, retryAfter } from './rate-limit-headers.ts';
import { readUsage, type Usage } from './usage.ts';

/**
 * @returns undefined if the caller's record has changed since it was read
 * @throws GatewayError rate_limit_exceeded after too many look-ups, service_unavailable while Redis is unavailable
 */
export type LookUpUsage = (caller: Caller) => Promise<Usage | undefined>;

interface UsageLookupDependencies {
  redis: RedisClient;
  gate: RedisGate;
  plans: Plans;
  banPolicy: LiveBanPolicy;
  now: () => number;
}

/** Limit of each key on each instance: a look-up costs no quota, so something else has to bound its cost. */
const lookupsPerSecond = 10;

/** Reads a key's usage for its owner, by one Redis command, which also confirms the record. */
export function createUsageLookup(dependencies: UsageLookupDependencies): LookUpUsage {
  const { redis, gate, plans, banPolicy, now } = dependencies;
  const lookups = new RateLimiterMemory({ points: lookupsPerSecond, duration: 1 });

  async function countLookup(keyHash: string): Promise<void> {
    try {
      await lookups.consume(keyHash);
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      const window = { limit: lookupsPerSecond, remaining: 0, resetMs: error.msBeforeNext };
      throw new GatewayError('rate_limit_exceeded', {
        message: `Usage can be read ${lookupsPerSecond} times a second.`,
        headers: { ...lookupLimitHeaders(window, now()), ...retryAfter(window.resetMs) },
      });
    }
  }

  return async function lookUpUsage(caller) {
    await countLookup(caller.keyHash);
    const { keyHash, rev } = caller;
    const limits = knownLimits(plans, caller);
    try {
      return await gate.send(() =>
        readUsage(redis, { keyHash, rev, limits, banPolicy: banPolicy.current() }),
      );
    } catch (error) {
      const headers = error instanceof RedisUnavailable ? { 'Retry-After': '1' } : {};
      throw new GatewayError('service_unavailable', { cause: error, headers });
    }
  };
}
