import type { Logger } from 'pino';
import type { Caller } from '../api-keys/api-key-cache.ts';
import type { RequestSpans } from '../observability/request-spans.ts';
import type { Plans } from '../plans/plans.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { RedisUnavailable, type RedisGate } from '../redis/redis-gate.ts';
import { createBanCache } from './ban-cache.ts';
import type { LiveBanPolicy } from './ban-policy.ts';
import { indexBan } from './ban-reason.ts';
import { knownLimits } from './known-limits.ts';
import type { LocalQuota } from './local-quota.ts';
import { createPolicyArgument } from './policy-argument.ts';
import { createQuotaBatch } from './quota-batch.ts';
import type { Allowed, Ban, QuotaDecision } from './quota-decision.ts';
import { consumeQuota, giveBackQuota } from './redis-quota.ts';
import type { LiveUsagePolicy } from './usage-policy.ts';
import type { UsageReports } from './usage-reports.ts';

export interface Quota {
  /**
   * Decides on one request of a caller, and counts what it costs if it is allowed.
   * @throws GatewayError service_unavailable if no limit is known for the caller's plan; UnexpectedValue as QuotaBatch does
   */
  decide(caller: Caller, cost: number): Promise<QuotaDecision>;
  /**
   * Gives back what a request has cost that failed through no fault of the caller. What was counted without Redis stays counted.
   * @returns the decision as it is without it; undefined if the request stays charged. Never rejects.
   */
  giveBack(caller: Caller, cost: number, decision: Allowed): Promise<Allowed | undefined>;
}

interface QuotaDependencies {
  redis: RedisClient;
  gate: RedisGate;
  plans: Plans;
  banPolicy: LiveBanPolicy;
  usagePolicy: LiveUsagePolicy;
  local: LocalQuota;
  usageReports: UsageReports;
  /** Undefined if no traces are exported. */
  spans: RequestSpans | undefined;
  log: Logger;
  /** Called for each decision that was made without Redis. */
  onLocalDecision: (plan: string) => void;
  /** Finds events in what Redis has decided. */
  useObserver: {
    allowed(caller: Caller, decision: Allowed, units: number): void;
    /** Called by each process that meets a ban, since the one that led to it may have had no reply. */
    banned(caller: Caller, ban: Ban): void;
  };
}

/** Decides by a cached ban, or else in Redis, or else, during an outage, in this instance alone. */
export function createQuota(dependencies: QuotaDependencies): Quota {
  const { redis, gate, plans, local, usageReports } = dependencies;
  const { useObserver, spans, log } = dependencies;
  const batch = createQuotaBatch({
    redis,
    gate,
    spans,
    policies: createPolicyArgument(dependencies),
  });
  // Not the time of day: a clock that is set back must not prolong a ban.
  const bans = createBanCache({ now: () => performance.now() });

  const limitsOf = (caller: Caller) => knownLimits(plans, caller);

  async function decideLocally(caller: Caller, cost: number): Promise<QuotaDecision> {
    dependencies.onLocalDecision(caller.plan);
    const decision = await local.consume(caller.customerId, limitsOf(caller), cost);
    if (decision.outcome !== 'allowed') return decision;
    usageReports.addServed(caller.customerId, cost);
    return { ...decision, isLocal: true };
  }

  async function decideInRedis(caller: Caller, cost: number): Promise<QuotaDecision> {
    try {
      const decision = await consumeQuota(batch, { caller, limits: limitsOf(caller), cost });
      if (decision.outcome === 'allowed') useObserver.allowed(caller, decision, cost);
      return decision;
    } catch (error) {
      if (error instanceof RedisUnavailable) return decideLocally(caller, cost);
      throw error;
    }
  }

  async function giveBack(caller: Caller, cost: number, decision: Allowed): Promise<Allowed | undefined> {
    if (decision.isLocal) return undefined;
    const { retentionDays } = dependencies.usagePolicy.current();
    const charged = { caller, limits: limitsOf(caller), cost, decision, retentionDays };
    return gate.send(() => giveBackQuota(redis, charged));
  }

  function onBanObserved(caller: Caller, ban: Ban): void {
    const { id } = caller;
    const { remainingMs, nowMs } = ban;
    useObserver.banned(caller, ban);
    log.warn({ keyId: id, seconds: Math.ceil(remainingMs / 1000) }, 'API key is banned');
    // If this fails, the ban is in force all the same, and is only missing in `ops bans list`.
    indexBan(redis, id, nowMs + remainingMs, nowMs).catch(() => {});
  }

  return {
    decide: (caller, cost) =>
      bans.getOrDecide(
        caller.keyHash,
        gate.shutAtMs,
        () => decideInRedis(caller, cost),
        (ban) => onBanObserved(caller, ban),
      ),
    // Redis is unavailable, which the gate reports.
    giveBack: (...args) => giveBack(...args).catch(() => undefined),
  };
}
