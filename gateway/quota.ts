import type { Redis } from 'ioredis';
import type { Caller } from './api-keys.ts';
import type { LiveBanPolicy } from './ban-policy.ts';
import { createBanMemory } from './ban-memory.ts';
import type { DayUsage } from './day-usage.ts';
import { GatewayError } from './errors.ts';
import type { FaultReport } from './fault-report.ts';
import type { Instances } from './instances.ts';
import type { LocalQuota } from './local-quota.ts';
import type { Plans } from './plans.ts';
import type { QuotaDecision } from './quota-decision.ts';
import { type RedisGate, RedisUnavailable } from './redis-gate.ts';
import { redisKeys } from './redis-keys.ts';
import { consumeQuota } from './redis-quota.ts';

export interface Quota {
  /**
   * Decides on one request of a caller and counts it where it is allowed.
   * @throws GatewayError service_unavailable where no limit is known for the caller's plan
   */
  decide(caller: Caller): Promise<QuotaDecision>;
}

interface QuotaDependencies {
  redis: Redis;
  gate: RedisGate;
  plans: Plans;
  banPolicy: LiveBanPolicy;
  instances: Instances;
  local: LocalQuota;
  dayUsage: DayUsage;
  faults: FaultReport;
  /** Counts decisions taken without Redis, for the metric. */
  onLocalDecision: () => void;
  now: () => number;
}

/** Where a decision comes from: a ban that is remembered, else Redis, else this instance alone. */
export function createQuota(dependencies: QuotaDependencies): Quota {
  const { redis, gate, plans, banPolicy, instances, local, dayUsage, faults, onLocalDecision, now } =
    dependencies;
  const bans = createBanMemory({ now });

  async function decideLocally(caller: Caller): Promise<QuotaDecision> {
    onLocalDecision();
    const decision = await local.consume(caller.sha, limitsOf(caller), instances.count());
    if (decision.outcome === 'allowed') dayUsage.add(caller.sha);
    return decision;
  }

  async function decideInRedis(caller: Caller): Promise<QuotaDecision> {
    const usageKey = redisKeys.violations(caller.sha);
    try {
      const decision = await consumeQuota(redis, gate, caller, limitsOf(caller), banPolicy.current());
      faults.report(usageKey, []);
      return decision;
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      if (!(error instanceof RedisUnavailable)) faults.report(usageKey, [String(error)]);
      return decideLocally(caller);
    }
  }

  function limitsOf(caller: Caller) {
    const limits = plans.limitsOf(caller);
    if (limits !== undefined) return limits;
    throw new GatewayError('service_unavailable', {
      message: 'The limits of this API key are not set up. Please contact the operator.',
      cause: `no limits known for key ${caller.id} on plan ${caller.plan}`,
    });
  }

  return {
    decide: (caller) => bans.recall(caller.sha, !gate.open, () => decideInRedis(caller)),
  };
}
