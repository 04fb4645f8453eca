import type { Logger } from 'pino';
import { createFaultReport, type FaultReport } from './observability/invalid-values.ts';
import type { Metrics } from './observability/metrics.ts';
import { createPlans, seedPlans, type Plans } from './plans/plans.ts';
import { createBanPolicy, seedBanPolicy, type LiveBanPolicy } from './quota/ban-policy.ts';
import { createBusyKeys, type BusyKeys } from './quota/hot-keys.ts';
import { createInstances, type Instances } from './quota/instances.ts';
import { createLocalQuota, type LocalQuota } from './quota/local-quota.ts';
import { createDayUsage, type DayUsage } from './quota/outage-usage.ts';
import { checkTypes } from './redis/key-types.ts';
import { createRedis, type RedisClient } from './redis/redis-client.ts';
import { createRedisGate, type RedisGate } from './redis/redis-gate.ts';
import { pingRedis } from './redis/redis-health.ts';
import { riskySettings } from './redis/risky-settings.ts';

/** Redis, what is read from it all the time, and what stands in for it while it is away. */
export interface RedisState {
  redis: RedisClient;
  gate: RedisGate;
  plans: Plans;
  banPolicy: LiveBanPolicy;
  instances: Instances;
  local: LocalQuota;
  dayUsage: DayUsage;
  busyKeys: BusyKeys;
  faults: FaultReport;
  /** Resolves when Redis answers, or after the given time; says which. */
  untilOpen(timeoutMs: number): Promise<boolean>;
  /** Reports what is left to report and disconnects. */
  close(): Promise<void>;
}

/** Plans, ban policy and the list of instances are read this often: a change is in force within a second. */
const refreshMs = 500;
/** How far `ops top` is behind, at the most. */
const busyReportMs = 2000;
/** No request depends on these: only operators do. */
const indexCheckMs = 5000;

interface RedisStateDependencies {
  url: string;
  /** Whether the gateway runs it itself, and has said already how it keeps its data. */
  isPrivate: boolean;
  log: Logger;
  metrics: Metrics;
  now: () => number;
}

export function createRedisState({ url, isPrivate, log, metrics, now }: RedisStateDependencies): RedisState {
  const redis = createRedis(url, log);
  const faults = createFaultReport({ log, gauge: (key, count) => metrics.badSettings.set({ key }, count) });
  const local = createLocalQuota({ now });
  const dayUsage = createDayUsage({ redis, log, now });
  const plans = createPlans({ redis, faults, now });
  const banPolicy = createBanPolicy({ redis, faults });
  const busyKeys = createBusyKeys({ redis, now });
  const instances = createInstances({ redis, now });

  metrics.localMode.set(1);
  const gate = createRedisGate({
    ping: () => pingRedis(redis),
    connected: () => redis.status === 'ready',
    log,
    onChange: (open) => metrics.localMode.set(open ? 0 : 1),
    onAnswer: (ms) => metrics.redisSeconds.observe(ms / 1000),
  });

  async function refresh(): Promise<void> {
    await Promise.all([plans.refresh(), banPolicy.refresh(), instances.announce()]);
  }

  const toldRisks = new Set<string>();
  async function tellRisks(): Promise<void> {
    for (const risk of await riskySettings(redis).catch(() => [])) {
      if (!toldRisks.has(risk)) log.warn(`Redis: ${risk}`);
      toldRisks.add(risk);
    }
  }

  gate.beforeOpening(async () => {
    // Scripts ask for the time, which the user may not be allowed to.
    await Promise.all([seedPlans(redis), seedBanPolicy(redis), redis.time()]);
    await refresh();
    await dayUsage.report();
    if (!isPrivate) void tellRisks();
  });

  const refresher = setInterval(() => {
    if (!gate.open) return;
    // Without traffic, nobody else would notice that Redis is gone.
    void gate.check();
    void refresh();
    // What was decided locally in the very moment in which Redis came back.
    if (dayUsage.pending() > 0) void dayUsage.report().catch(() => {});
  }, refreshMs);

  async function checkIndexes(): Promise<void> {
    try {
      for (const { key, fault } of await checkTypes(redis))
        faults.report(key, fault === undefined ? [] : [fault]);
    } catch {
      // Redis is away, and that is told elsewhere.
    }
  }

  const indexChecker = setInterval(() => {
    if (gate.open) void checkIndexes();
  }, indexCheckMs);

  const busyReporter = setInterval(() => {
    if (gate.open) void busyKeys.report();
    else busyKeys.forget();
  }, busyReportMs);

  return {
    redis,
    gate,
    plans,
    banPolicy,
    instances,
    local,
    dayUsage,
    busyKeys,
    faults,
    async untilOpen(timeoutMs) {
      const deadline = now() + timeoutMs;
      while (!gate.open && now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
      return gate.open;
    },
    async close() {
      clearInterval(refresher);
      clearInterval(busyReporter);
      clearInterval(indexChecker);
      if (gate.open) {
        await instances.leave();
        await dayUsage.report().catch(() => {});
      }
      const lost = dayUsage.pending();
      if (lost > 0)
        log.error({ requests: lost }, 'Requests served without Redis are lost to the day counters');
      gate.close();
      redis.disconnect();
    },
  };
}
