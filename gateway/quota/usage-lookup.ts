import { LRUCache } from 'lru-cache';
import type { Caller } from '../api-keys/api-keys.ts';
import { GatewayError } from '../errors.ts';
import type { RedisState } from '../redis-state.ts';
import { readUsage, type Usage } from './usage.ts';

/** @returns undefined where the caller's record has changed since it was read */
export type LookUpUsage = (caller: Caller) => Promise<Usage | undefined>;

interface UsageLookupDependencies extends Pick<RedisState, 'redis' | 'gate' | 'plans' | 'banPolicy'> {
  now: () => number;
}

/** Looking costs no quota, so something else has to bound it. */
const lookupsPerSecond = 10;
const rememberedKeys = 10_000;

/**
 * What a key has used, for its owner. Ten times a second it is asked of Redis; who looks more often than that gets
 * the last answer once more, which is then a second old at the most.
 */
export function createUsageLookup(dependencies: UsageLookupDependencies): LookUpUsage {
  const { redis, gate, plans, banPolicy, now } = dependencies;
  const remembered = new LRUCache<
    string,
    { startedAtMs: number; lookups: number; latest: Promise<Usage | undefined> }
  >({ max: rememberedKeys });

  async function ask(caller: Caller): Promise<Usage | undefined> {
    const { sha, rev } = caller;
    const limits = plans.limitsOf(caller);
    if (limits === undefined) throw new GatewayError('service_unavailable', { cause: 'no limits known' });
    try {
      return await gate.send(() => readUsage(redis, { sha, rev, limits, banPolicy: banPolicy.current() }));
    } catch (error) {
      throw new GatewayError('service_unavailable', { cause: error, headers: { 'Retry-After': '1' } });
    }
  }

  return async function lookUpUsage(caller) {
    let known = remembered.get(caller.sha);
    if (known === undefined || now() - known.startedAtMs >= 1000) {
      known = { startedAtMs: now(), lookups: 1, latest: ask(caller) };
      remembered.set(caller.sha, known);
    } else if (known.lookups < lookupsPerSecond) {
      known.lookups += 1;
      known.latest = ask(caller);
    }
    const usage = await known.latest;
    if (usage === undefined) remembered.delete(caller.sha);
    return usage;
  };
}
