import type { Logger } from 'pino';
import type { Caller } from '../keys/api-key-cache.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { RedisUnavailable, type RedisGate } from '../platform/redis/redis-gate.ts';
import { createBanCache, indexBan } from './bans.ts';
import { createLocalQuota } from './local-quota.ts';
import type { Plans } from './plans.ts';
import type { LiveBanPolicy, LiveUsagePolicy } from './policies.ts';
import { knownLimits, type Allowed, type Ban, type QuotaDecision } from './quota-decision.ts';
import { consumeQuota, createPolicyArguments, createQuotaBatch, giveBackQuota } from './redis-quota.ts';

export type Quota = ReturnType<typeof createQuota>;

interface QuotaDependencies {
  redis: RedisClient;
  gate: RedisGate;
  plans: Plans;
  banPolicy: LiveBanPolicy;
  usagePolicy: LiveUsagePolicy;
  log: Logger;
  /** Redis' clock, also while Redis is down. */
  now: () => number;
  /** Called by each process that meets a ban, since the one that led to it may have had no reply. */
  onBan: (caller: Caller, ban: Ban) => void;
}

/** Decides by a cached ban, or else in Redis, or else, during an outage, in this instance alone. */
export function createQuota(dependencies: QuotaDependencies) {
  const { redis, gate, plans, log, onBan } = dependencies;
  const local = createLocalQuota(dependencies);
  const batch = createQuotaBatch({ redis, gate, policies: createPolicyArguments(dependencies) });
  // Not the time of day: a clock that is set back must not prolong a ban.
  const bans = createBanCache({ now: () => performance.now() });

  const limitsOf = (caller: Caller) => knownLimits(plans, caller);

  async function decideLocally(caller: Caller, cost: number): Promise<QuotaDecision> {
    const decision = await local.consume(caller.customerId, limitsOf(caller), cost);
    return { ...decision, isLocal: true };
  }

  async function decideInRedis(caller: Caller, cost: number): Promise<QuotaDecision> {
    try {
      return await consumeQuota(batch, { caller, limits: limitsOf(caller), cost });
    } catch (error) {
      if (error instanceof RedisUnavailable) return decideLocally(caller, cost);
      throw error;
    }
  }

  function onBanObserved(caller: Caller, ban: Ban): void {
    const { id } = caller;
    const { remainingMs, nowMs } = ban;
    onBan(caller, ban);
    log.warn({ keyId: id, seconds: Math.ceil(remainingMs / 1000) }, 'API key is banned');
    // If this fails, the ban is in force all the same, and is only missing in `ops bans list`.
    indexBan(redis, id, nowMs + remainingMs, nowMs).catch(() => {});
  }

  return {
    /**
     * Decides on one request of a caller, and counts what it costs if it is allowed.
     * @throws GatewayError service_unavailable if no limit is known for the caller's plan; UnexpectedValue as QuotaBatch does
     */
    decide: (caller: Caller, cost: number): Promise<QuotaDecision> =>
      bans.getOrDecide(
        caller.keyHash,
        gate.shutAtMs,
        () => decideInRedis(caller, cost),
        (ban) => onBanObserved(caller, ban),
      ),
    /**
     * Gives back what a request has cost that failed through no fault of the caller. What was counted without Redis stays counted.
     * @returns the decision as it is without it; undefined if the request stays charged. Never rejects.
     */
    async giveBack(caller: Caller, cost: number, decision: Allowed): Promise<Allowed | undefined> {
      if (decision.isLocal) return undefined;
      const { retentionDays } = dependencies.usagePolicy.current();
      try {
        const charged = { caller, limits: limitsOf(caller), cost, decision, retentionDays };
        return await gate.send(() => giveBackQuota(redis, charged));
      } catch {
        // Redis is unavailable, which the gate reports.
        return undefined;
      }
    },
  };
}
