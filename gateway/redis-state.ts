import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { createLostKeys, type LostKeys } from './api-keys/lost-keys.ts';
import { withoutCredentials } from './config/redis-url.ts';
import { createKeptUsage } from './kept-usage.ts';
import { showPlanLimits } from './known-series.ts';
import type { SomeLimits } from './limits/limits.ts';
import { createInvalidValues, type InvalidValues } from './observability/invalid-values.ts';
import type { Metrics } from './observability/metrics.ts';
import type { ProcessStatus } from './observability/process-status.ts';
import { createPlans, type Plans } from './plans/plans.ts';
import { createAddressBlocks, type AddressBlocks } from './quota/address-blocks.ts';
import { banPolicySetting, type LiveBanPolicy } from './quota/ban-policy.ts';
import { createBusyAddresses, type BusyAddresses } from './quota/busy-addresses.ts';
import { createHotKeys, type HotKeys } from './quota/hot-keys.ts';
import { createInstances, type EndCause, type Instances } from './quota/instances.ts';
import { createKeyUseReports, createRefusedUseReports, type KeyUseReports } from './quota/key-use.ts';
import { countInFleet, createKeysInUse } from './quota/keys-in-use.ts';
import { createLocalQuota, type LocalQuota } from './quota/local-quota.ts';
import { createServiceUseReports, type ServiceUseReports } from './quota/service-use.ts';
import { usageSetting, type LiveUsagePolicy } from './quota/usage-policy.ts';
import { createUsageReports, type UsageReports } from './quota/usage-reports.ts';
import { startRedisSchedule } from './redis-schedule.ts';
import { createOthersReader, mergeEnforced } from './redis/enforced-settings.ts';
import { createHashReader } from './redis/hash-reader.ts';
import { createLiveSetting } from './redis/live-setting.ts';
import {
  countLocalModeSeconds,
  createLocalModeTimes,
  type LocalModeTimes,
} from './redis/local-mode-times.ts';
import { createRedis, type RedisClient } from './redis/redis-client.ts';
import { createRedisClock } from './redis/redis-clock.ts';
import { createRedisGate, type RedisGate } from './redis/redis-gate.ts';
import { pingRedis } from './redis/redis-health.ts';
import { createTrafficReporter } from './traffic/traffic-reporter.ts';

/** Redis, what is read from it continually, and what replaces it during an outage. */
export interface RedisState {
  redis: RedisClient;
  gate: RedisGate;
  plans: Plans;
  banPolicy: LiveBanPolicy;
  usagePolicy: LiveUsagePolicy;
  addressBlocks: AddressBlocks;
  instances: Instances;
  local: LocalQuota;
  usageReports: UsageReports;
  hotKeys: HotKeys;
  busyAddresses: BusyAddresses;
  keyUse: KeyUseReports;
  refusedUse: KeyUseReports;
  serviceUse: ServiceUseReports;
  invalidValues: InvalidValues;
  localMode: LocalModeTimes;
  lostKeys: LostKeys;
  /** Resolves when Redis is available, or when the time is over. @returns whether it is available */
  waitUntilOpen(timeoutMs: number): Promise<boolean>;
  /** Reports pending counts and disconnects. */
  close(cause?: EndCause): Promise<void>;
}

interface RedisStateDependencies {
  url: string;
  /** Whether the gateway runs this Redis itself, and has logged how it keeps its data. */
  isPrivate: boolean;
  /** Directory for what has to outlast the process. */
  dataDirectory: string;
  log: Logger;
  metrics: Metrics;
  /** What this process says of itself, for consoles; undefined if it says nothing. */
  readStatus?: () => Promise<ProcessStatus>;
  /** Called with a request of `ops services reload`, again and again while it is in Redis. */
  onReloadRequest?: (request: string) => void;
  now: () => number;
}

export function createRedisState(dependencies: RedisStateDependencies): RedisState {
  const { url, isPrivate, dataDirectory, log, metrics, readStatus, onReloadRequest, now } = dependencies;
  const redis = createRedis(url, log);
  const invalidValues = createInvalidValues({
    log,
    setGauge: (key, issues) => metrics.invalidSettings.set({ key }, issues),
  });
  const clock = createRedisClock({ redis, now });
  const local = createLocalQuota({ now: clock.now });
  const hashes = createHashReader(redis);
  const live = { hashes, invalidValues, readOthers: createOthersReader(redis) };
  const onLimits = (plan: string, limits: SomeLimits) => showPlanLimits(metrics, plan, limits);
  const plans = createPlans({ ...live, now, onLimits });
  const banPolicy = createLiveSetting({ ...live, setting: banPolicySetting });
  const usagePolicy = createLiveSetting({ ...live, setting: usageSetting });
  const addressBlocks = createAddressBlocks({ hashes, invalidValues, now: clock.now });
  const usageReports = createUsageReports({ redis, usagePolicy, log, now: clock.now });
  // Gateways on other Redis servers may have the same directory. The port of a private one changes.
  const redisName = isPrivate ? 'private' : encodeURIComponent(withoutCredentials(url)).slice(0, 200);
  const keptUsage = createKeptUsage({
    redis,
    directory: join(dataDirectory, 'kept-usage', redisName),
    usagePolicy,
    usageReports,
    log,
    now: clock.now,
  });
  const lostKeys = createLostKeys({
    redis,
    log,
    onCount: (lost) => metrics.lostKeys.set(lost),
    now: clock.now,
  });
  let keysCounted: Promise<unknown> = Promise.resolve();
  const keysInUse = createKeysInUse((plan, counts, keys) => {
    const counted = countInFleet(redis, plan, keys, clock.now())
      // Without Redis, what this process has seen.
      .catch(() => counts)
      .then(({ active, refused }) => {
        metrics.activeKeys.set({ plan }, active);
        metrics.refusedKeys.set({ plan }, refused);
      });
    keysCounted = Promise.all([keysCounted, counted]);
  });
  const hotKeys = createHotKeys({ redis, now: clock.now, keysInUse });
  const busyAddresses = createBusyAddresses({ redis, now: clock.now });
  const keyUse = createKeyUseReports({ redis, now: clock.now, gateway: hostname() });
  const refusedUse = createRefusedUseReports({ redis, now: clock.now });
  const serviceUse = createServiceUseReports({ redis, usagePolicy, now: clock.now });
  const enforced = () =>
    mergeEnforced([plans, banPolicy, usagePolicy].map((settings) => settings.enforced()));
  const instances = createInstances({ redis, enforced, readStatus, onReloadRequest, now: clock.now });

  metrics.localMode.set(1);
  const localMode = createLocalModeTimes(clock.now);
  const localModeSeconds = countLocalModeSeconds(metrics.localModeSeconds);
  const gate = createRedisGate({
    ping: () => pingRedis(redis, clock),
    connected: () => redis.status === 'ready',
    log,
    onChange: (open) => {
      localModeSeconds.changed(!open);
      metrics.localMode.set(open ? 0 : 1);
      localMode.changed(!open);
    },
    onCommand: (ms) => metrics.redisSeconds.observe(ms / 1000),
  });

  const trafficReporter = createTrafficReporter({
    redis,
    isOpen: () => gate.open,
    now: clock.now,
    metrics,
    log,
  });

  const schedule = startRedisSchedule({
    redis,
    isPrivate,
    gate,
    settings: [plans, banPolicy, usagePolicy, addressBlocks],
    instances,
    usageReports,
    keptUsage,
    hotKeys,
    busyAddresses,
    keyUse,
    refusedUse,
    serviceUse,
    keysInUse,
    lostKeys,
    invalidValues,
    metrics,
    log,
  });

  return {
    redis,
    gate,
    plans,
    banPolicy,
    usagePolicy,
    addressBlocks,
    instances,
    local,
    usageReports,
    hotKeys,
    busyAddresses,
    keyUse,
    refusedUse,
    serviceUse,
    invalidValues,
    localMode,
    lostKeys,
    async waitUntilOpen(timeoutMs) {
      const deadline = now() + timeoutMs;
      while (!gate.open && now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
      return gate.open;
    },
    async close(cause) {
      localModeSeconds.stop();
      schedule.stop();
      if (gate.open) {
        await instances.leave(cause);
        await usageReports.report().catch(() => {});
        await Promise.all([refusedUse.report(), keyUse.report(true), serviceUse.report(true)]);
        keysInUse.endMinute();
        await keysCounted;
      }
      await trafficReporter.close();
      await keptUsage.keep();
      gate.close();
      redis.disconnect();
    },
  };
}
