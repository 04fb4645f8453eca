import type { Logger } from 'pino';
import { createLostKeys, type LostKeys } from './api-keys/lost-keys.ts';
import { showPlanLimits } from './known-series.ts';
import { createInvalidValues, type InvalidValues } from './observability/invalid-values.ts';
import type { Metrics } from './observability/metrics.ts';
import type { ProcessStatus } from './observability/process-status.ts';
import { createPlans, type Plans } from './plans/plans.ts';
import { convertFirstBanPolicy, createLiveBanPolicy, type LiveBanPolicy } from './quota/ban-policy.ts';
import { createHotKeys, type HotKeys } from './quota/hot-keys.ts';
import { createInstances, type Instances } from './quota/instances.ts';
import { createKeysInUse } from './quota/keys-in-use.ts';
import { createLocalQuota, type LocalQuota } from './quota/local-quota.ts';
import { seedDefaults } from './quota/seed-defaults.ts';
import { createLiveUsagePolicy, type LiveUsagePolicy } from './quota/usage-policy.ts';
import { createUsageReports, type UsageReports } from './quota/usage-reports.ts';
import type { EnforcedSettings } from './redis/enforced-settings.ts';
import { checkTypes } from './redis/key-types.ts';
import { createLocalModeTimes, type LocalModeTimes } from './redis/local-mode-times.ts';
import { createAuditLog, type RecordChange } from './redis/record-change.ts';
import { createRedis, type RedisClient } from './redis/redis-client.ts';
import { createRedisClock } from './redis/redis-clock.ts';
import { ignoreWrongTypes, isCommandError } from './redis/redis-errors.ts';
import { createRedisGate, type RedisGate } from './redis/redis-gate.ts';
import { pingRedis } from './redis/redis-health.ts';
import { readRedisMemory } from './redis/redis-memory.ts';
import { findRiskySettings } from './redis/risky-settings.ts';
import { createTrafficReporter } from './traffic/traffic-reporter.ts';

/** Redis, what is read from it continually, and what replaces it during an outage. */
export interface RedisState {
  redis: RedisClient;
  gate: RedisGate;
  plans: Plans;
  banPolicy: LiveBanPolicy;
  usagePolicy: LiveUsagePolicy;
  instances: Instances;
  local: LocalQuota;
  usageReports: UsageReports;
  hotKeys: HotKeys;
  invalidValues: InvalidValues;
  localMode: LocalModeTimes;
  lostKeys: LostKeys;
  /** Resolves when Redis is available, or when the time is over. @returns whether it is available */
  waitUntilOpen(timeoutMs: number): Promise<boolean>;
  /** Reports pending counts and disconnects. */
  close(): Promise<void>;
}

/** Interval for plans, ban policy and the list of instances: a change is in force within a second. */
const refreshMs = 500;
/** Maximum delay of `ops top`. */
const hotKeysReportMs = 2000;
/** Maximum delay of refused requests in the record of use, and what a killed process loses of them. */
const usageReportMs = 5000;
/** No request depends on the indexes, only operators do. A loss of Redis without traffic is noticed as soon. */
const checkMs = 5000;
/** Interval for the memory of Redis, which only alerts need. */
const memoryMs = 5000;

interface RedisStateDependencies {
  url: string;
  /** Whether the gateway runs this Redis itself, and has logged how it keeps its data. */
  isPrivate: boolean;
  log: Logger;
  metrics: Metrics;
  /** What this process says of itself, for consoles; undefined if it says nothing. */
  readStatus?: () => Promise<ProcessStatus>;
  now: () => number;
}

export function createRedisState(dependencies: RedisStateDependencies): RedisState {
  const { url, isPrivate, log, metrics, readStatus, now } = dependencies;
  const redis = createRedis(url, log);
  const invalidValues = createInvalidValues({
    log,
    setGauge: (key, issues) => metrics.invalidSettings.set({ key }, issues),
  });
  const clock = createRedisClock({ redis, now });
  const local = createLocalQuota({ now: clock.now });
  const plans = createPlans({
    redis,
    invalidValues,
    now,
    onLimits: (plan, limits) => showPlanLimits(metrics, plan, limits),
  });
  const banPolicy = createLiveBanPolicy({ redis, invalidValues });
  const usagePolicy = createLiveUsagePolicy({ redis, invalidValues });
  const usageReports = createUsageReports({ redis, usagePolicy, log, now: clock.now });
  const lostKeys = createLostKeys({
    redis,
    log,
    onCount: (lost) => metrics.lostKeys.set(lost),
    now: clock.now,
  });
  const keysInUse = createKeysInUse((plan, { active, refused }) => {
    metrics.activeKeys.set({ plan }, active);
    metrics.refusedKeys.set({ plan }, refused);
  });
  const hotKeys = createHotKeys({ redis, now, keysInUse });
  const instances = createInstances({ redis, enforced, readStatus, now: clock.now });

  function enforced(): EnforcedSettings {
    const settings = [plans.enforced(), banPolicy.enforced(), usagePolicy.enforced()];
    return {
      known: Object.assign({}, ...settings.map(({ known }) => known)),
      defaults: Object.assign({}, ...settings.map(({ defaults }) => defaults)),
    };
  }

  const timers: NodeJS.Timeout[] = [];
  function every(task: () => void, intervalMs: number): void {
    timers.push(setInterval(task, intervalMs));
  }

  metrics.localMode.set(1);
  const localMode = createLocalModeTimes(clock.now);
  const gate = createRedisGate({
    ping: () => pingRedis(redis),
    connected: () => redis.status === 'ready',
    log,
    onChange: (open) => {
      metrics.localMode.set(open ? 0 : 1);
      localMode.changed(!open);
    },
    onCommand: (ms) => metrics.redisSeconds.observe(ms / 1000),
  });

  /** @throws Error if this instance can't be announced */
  async function refresh(): Promise<void> {
    await Promise.all([plans.refresh(), banPolicy.refresh(), usagePolicy.refresh()]);
    // After the settings were read, so that it publishes what is in force.
    await ignoreWrongTypes([instances.announce()]);
  }

  const loggedRisks = new Set<string>();
  async function logRisks(): Promise<void> {
    for (const risk of await findRiskySettings(redis).catch(() => [])) {
      if (!loggedRisks.has(risk)) log.warn(`Redis: ${risk}`);
      loggedRisks.add(risk);
    }
  }

  const recordByGateway = createAuditLog({ redis, who: 'gateway' });
  const recordConversion: RecordChange = async (change) => {
    const { before, after } = change;
    log.warn({ before, after }, 'ban policy of an earlier version was converted');
    await recordByGateway(change).catch((error: unknown) => {
      log.error({ err: error }, 'conversion of the ban policy is missing in the audit log');
    });
  };

  let started = false;
  gate.beforeOpening(async () => {
    // Later, what is missing was lost, and this instance still enforces it.
    if (!started) await seedDefaults(redis, 'gateway', isPrivate ? 0 : undefined);
    // The scripts use TIME, which the Redis user may not be allowed to run. The announcement is a write, so that a Redis
    // that refuses writes is not used.
    await clock.sync();
    await convertFirstBanPolicy(redis, recordConversion);
    await refresh();
    started = true;
    await usageReports.report();
    void measureMemory();
    if (!isPrivate) void logRisks();
  });

  every(() => {
    if (!gate.open) return;
    // Notices an outage without traffic.
    void gate.check();
    // If it fails, the last reading goes on.
    void clock.sync().catch(() => {});
    refresh().catch((error: unknown) => {
      // The gate notices an unavailable Redis, and logs it once.
      if (isCommandError(error)) log.error({ err: error }, 'settings cannot be read from Redis');
    });
    // Requests may have been decided locally at the very moment in which Redis came back.
    if (usageReports.pending() > 0) void usageReports.report().catch(() => {});
  }, refreshMs);

  async function checkIndexes(): Promise<void> {
    try {
      for (const { key, issue } of await checkTypes(redis)) {
        invalidValues.report(key, issue === undefined ? [] : [issue]);
      }
    } catch {
      // Redis is unavailable, which the gate reports.
    }
  }

  every(() => {
    if (!gate.open) return;
    void checkIndexes();
    void lostKeys.check().catch(() => {});
  }, checkMs);

  async function measureMemory(): Promise<void> {
    const memory = await readRedisMemory(redis);
    metrics.redisMemoryUsed.set(memory?.usedBytes ?? 0);
    metrics.redisMemoryLimit.set(memory?.limitBytes ?? 0);
  }

  every(() => {
    if (gate.open) void measureMemory();
  }, memoryMs);

  every(() => keysInUse.endMinute(), 60_000);

  every(() => {
    if (gate.open) void usageReports.report().catch(() => {});
  }, usageReportMs);

  const trafficReporter = createTrafficReporter({
    redis,
    isOpen: () => gate.open,
    now: clock.now,
    metrics,
    log,
  });

  every(() => {
    if (gate.open) void hotKeys.report();
    else hotKeys.clear();
  }, hotKeysReportMs);

  return {
    redis,
    gate,
    plans,
    banPolicy,
    usagePolicy,
    instances,
    local,
    usageReports,
    hotKeys,
    invalidValues,
    localMode,
    lostKeys,
    async waitUntilOpen(timeoutMs) {
      const deadline = now() + timeoutMs;
      while (!gate.open && now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
      return gate.open;
    },
    async close() {
      for (const timer of timers) clearInterval(timer);
      if (gate.open) {
        await instances.leave();
        await usageReports.report().catch(() => {});
      }
      await trafficReporter.close();
      const lost = usageReports.pending();
      if (lost > 0) {
        log.error({ requests: lost }, 'requests served without Redis are lost to the day counters');
      }
      gate.close();
      redis.disconnect();
    },
  };
}
