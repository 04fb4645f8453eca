import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Caller } from '../api-keys/api-key-cache.ts';
import { GatewayError } from '../errors.ts';
import type { RedisState } from '../redis-state.ts';
import { RedisUnavailable } from '../redis/redis-gate.ts';
import { knownLimits } from './known-limits.ts';
import { lookupLimitHeaders, retryAfter } from './rate-limit-headers.ts';
import { readUsage, type Usage } from './usage.ts';

/**
 * @returns undefined where the caller's record has changed since it was read
 * @throws GatewayError rate_limit_exceeded for one who looks all the time, service_unavailable while Redis is away
 */
export type LookUpUsage = (caller: Caller) => Promise<Usage | undefined>;

interface UsageLookupDependencies extends Pick<RedisState, 'redis' | 'gate' | 'plans' | 'banPolicy'> {
  now: () => number;
}

/** Looking costs no quota, so something else has to bound what it costs Redis: this, on each instance. */
const lookupsPerSecond = 10;

/** What a key has used, for its owner: in one Redis command, which proves the record too. */
export function createUsageLookup(dependencies: UsageLookupDependencies): LookUpUsage {
  const { redis, gate, plans, banPolicy, now } = dependencies;
  const lookups = new RateLimiterMemory({ points: lookupsPerSecond, duration: 1 });

  async function countLookup(sha: string): Promise<void> {
    try {
      await lookups.consume(sha);
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      const window = { limit: lookupsPerSecond, remaining: 0, resetMs: error.msBeforeNext };
      throw new GatewayError('rate_limit_exceeded', {
        message: `Usage can be looked at ${lookupsPerSecond} times a second.`,
        headers: { ...lookupLimitHeaders(window, now()), ...retryAfter(window.resetMs) },
      });
    }
  }

  return async function lookUpUsage(caller) {
    await countLookup(caller.sha);
    const { sha, rev } = caller;
    const limits = knownLimits(plans, caller);
    try {
      return await gate.send(() => readUsage(redis, { sha, rev, limits, banPolicy: banPolicy.current() }));
    } catch (error) {
      const headers = error instanceof RedisUnavailable ? { 'Retry-After': '1' } : {};
      throw new GatewayError('service_unavailable', { cause: error, headers });
    }
  };
}
