import type { Logger } from 'pino';
import type { Caller } from '../api-keys/api-key-cache.ts';
import { GatewayError } from '../errors.ts';
import type { RedisState } from '../redis-state.ts';
import { RedisUnavailable } from '../redis/redis-gate.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { createBanMemory } from './ban-cache.ts';
import { indexBan } from './ban-index.ts';
import { knownLimits } from './known-limits.ts';
import { createQuotaScript } from './quota-batch.ts';
import type { Ban, QuotaDecision } from './quota-decision.ts';
import { consumeQuota } from './redis-quota.ts';

export interface Quota {
  /**
   * Decides on one request of a caller and counts it where it is allowed.
   * @throws GatewayError service_unavailable where no limit is known for the caller's plan
   */
  decide(caller: Caller): Promise<QuotaDecision>;
}

interface QuotaDependencies extends RedisState {
  log: Logger;
  /** Counts decisions taken without Redis, for the metric. */
  onLocalDecision: (plan: string) => void;
}

/** Where a decision comes from: a ban that is remembered, else Redis, else this instance alone. */
export function createQuota(dependencies: QuotaDependencies): Quota {
  const { redis, gate, plans, banPolicy, instances, local, dayUsage, faults, log, onLocalDecision } =
    dependencies;
  const script = createQuotaScript({ redis, gate });
  // A clock that is set back must not prolong a ban.
  const bans = createBanMemory({ now: () => performance.now() });
  /** Hashes of keys whose record the script stumbled over, such as one of the wrong type. */
  const stumbled = new Set<string>();

  async function decideLocally(caller: Caller): Promise<QuotaDecision> {
    onLocalDecision(caller.plan);
    const decision = await local.consume(caller.sha, limitsOf(caller), instances.count());
    if (decision.outcome === 'allowed') dayUsage.add(caller.sha);
    return decision;
  }

  async function decideInRedis(caller: Caller): Promise<QuotaDecision> {
    // The script mends what it counts with; what is left to stumble over is the record.
    const key = redisKeys.apiKey(caller.sha);
    try {
      const decision = await consumeQuota(script, caller, limitsOf(caller), banPolicy.current());
      // Other faults of the record are for those to take back who read it.
      if (stumbled.delete(caller.sha)) faults.report(key, []);
      return decision;
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      if (!(error instanceof RedisUnavailable)) {
        stumbled.add(caller.sha);
        faults.report(key, [String(error)]);
      }
      return decideLocally(caller);
    }
  }

  /** Of a ban that is new, or was made elsewhere and is met for the first time. */
  function tellOperators({ id }: Caller, { remainingMs, nowMs }: Ban): void {
    log.warn({ keyId: id, seconds: Math.ceil(remainingMs / 1000) }, 'API key is banned');
    // Where this gets lost, the ban is in force all the same and is only missing in the list.
    indexBan(redis, id, nowMs + remainingMs, nowMs).catch(() => {});
  }

  const limitsOf = (caller: Caller) => knownLimits(plans, caller);

  return {
    decide: (caller) =>
      bans.recall(
        caller.sha,
        gate.shutAtMs,
        () => decideInRedis(caller),
        (ban) => tellOperators(caller, ban),
      ),
  };
}
