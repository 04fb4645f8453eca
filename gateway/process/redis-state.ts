import type { Counter } from '@prometheus-io/client';
import type { Logger } from 'pino';
import type { Limits } from '../limits/limits.ts';
import { createInvalidValues } from '../platform/observability/invalid-values.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import { mergeEnforced, readEnforcedSettings } from '../platform/redis/enforced-settings.ts';
import { createAnnouncement, type ProcessStatus } from '../platform/redis/process-statuses.ts';
import { createRedis, type RedisClient } from '../platform/redis/redis-client.ts';
import { createRedisClock, createRedisGate, pingRedis } from '../platform/redis/redis-gate.ts';
import { createHashReader } from '../platform/redis/redis-values.ts';
import { createSetUpMarker } from '../platform/redis/set-up-marker.ts';
import { createLiveSetting } from '../platform/redis/settings.ts';
import { createPlans } from '../quota/plans.ts';
import { banPolicySetting, usageSetting } from '../quota/policies.ts';
import { createTrafficReporter } from '../quota/traffic.ts';
import { showPlanLimits } from '../request/record-access.ts';
import { createReports, startRedisSchedule } from './redis-schedule.ts';

interface RedisStateDependencies {
  url: string;
  /** Whether the gateway runs this Redis itself, and has logged how it keeps its data. */
  isPrivate: boolean;
  log: Logger;
  metrics: Metrics;
  /** What this process says of itself. */
  readStatus: () => Promise<ProcessStatus>;
  now: () => number;
}

export type RedisState = ReturnType<typeof createRedisState>;

/** Redis, what is read from it continually, and what replaces it during an outage. */
export function createRedisState(dependencies: RedisStateDependencies) {
  const { url, isPrivate, log, metrics, readStatus, now } = dependencies;
  const redis = createRedis(url, log);
  const clock = createRedisClock({ redis, now });
  const settings = createLiveSettings({ redis, log, metrics, now: clock.now });
  const { enforced, usagePolicy } = settings;
  const reports = createReports({ ...dependencies, redis, usagePolicy, now: clock.now });
  const announcement = createAnnouncement({ redis, readStatus, enforced, now: clock.now });
  const setUpMarker = createSetUpMarker({
    redis,
    log,
    onChange: (isMissing) => metrics.redisEmptied.set(isMissing ? 1 : 0),
  });

  metrics.localMode.set(1);
  const localMode = createLocalModeTimes(clock.now, metrics.localModeSeconds);
  const gate = createRedisGate({
    ping: () => pingRedis(redis, clock),
    connected: () => redis.status === 'ready',
    log,
    onChange: (open) => {
      metrics.localMode.set(open ? 0 : 1);
      localMode.changed(!open);
    },
    seconds: metrics.redisSeconds,
  });

  const trafficReporter = createTrafficReporter({
    redis,
    isOpen: () => gate.open,
    now: clock.now,
    metrics,
    log,
  });

  const { refreshSettings } = settings;
  const schedule = startRedisSchedule({
    redis,
    isPrivate,
    gate,
    refreshSettings,
    announcement,
    reports,
    setUpMarker,
    metrics,
    log,
  });

  return {
    redis,
    gate,
    ...settings,
    ...reports,
    announcement,
    localMode,
    setUpMarker,
    /** Resolves when Redis is available, or when the time is over. @returns whether it is available */
    async waitUntilOpen(timeoutMs: number): Promise<boolean> {
      const deadline = performance.now() + timeoutMs;
      while (!gate.open && performance.now() < deadline)
        await new Promise((resolve) => setTimeout(resolve, 20));
      return gate.open;
    },
    /** Unix milliseconds by Redis' clock. */
    now: clock.now,
    /** Reports pending counts and disconnects. */
    async close(): Promise<void> {
      localMode.stop();
      schedule.stop();
      if (gate.open) {
        await announcement.withdraw();
        await reports.reportAll();
      }
      await trafficReporter.close();
      reports.usageReports.logPending();
      gate.close();
      redis.disconnect();
    },
  };
}

interface LiveSettingsDependencies {
  redis: RedisClient;
  log: Logger;
  metrics: Metrics;
  /** By Redis' clock. */
  now: () => number;
}

/** What operators may set in Redis at any time, as it is in force. */
export function createLiveSettings({ redis, log, metrics, now }: LiveSettingsDependencies) {
  const invalidValues = createInvalidValues({
    log,
    setGauge: (key, issues) => metrics.invalidSettings.set({ key }, issues),
  });
  const hashes = createHashReader(redis);
  const live = { hashes, invalidValues, readOthers: () => readEnforcedSettings(redis).catch(() => []) };
  const onLimits = (plan: string, limits: Limits) => showPlanLimits(metrics, plan, limits);
  const settings = {
    plans: createPlans({ ...live, now, onLimits }),
    banPolicy: createLiveSetting({ ...live, setting: banPolicySetting }),
    usagePolicy: createLiveSetting({ ...live, setting: usageSetting }),
  };
  return {
    hashes,
    invalidValues,
    ...settings,
    /** What other gateways may take over from this one. */
    enforced: () =>
      mergeEnforced(
        Object.values(settings).flatMap((setting) => ('enforced' in setting ? [setting.enforced()] : [])),
      ),
    async refreshSettings(): Promise<void> {
      await Promise.all(Object.values(settings).map((setting) => setting.refresh()));
    },
  };
}

/** Interval for the seconds while local mode lasts. */
const countMs = 1000;

/**
 * When, and for how many seconds, this process decides without Redis, as it does at its start.
 * @param now Unix milliseconds by Redis' clock, as last known
 */
function createLocalModeTimes(now: () => number, seconds: Pick<Counter, 'inc'>) {
  const iso = () => new Date(now()).toISOString();
  const startedAt = iso();
  let everAvailable = false;
  let isLocal = true;
  let countedAtMs = performance.now();
  let last: { from: string; to: string | null } | null = null;

  function count(): void {
    const atMs = performance.now();
    if (isLocal) seconds.inc((atMs - countedAtMs) / 1000);
    countedAtMs = atMs;
  }
  const timer = setInterval(count, countMs);

  return {
    /** To be called when local mode begins (true) or ends. */
    changed(local: boolean): void {
      count();
      isLocal = local;
      if (local) last = { from: iso(), to: null };
      else if (everAvailable && last !== null) last = { from: last.from, to: iso() };
      everAvailable = true;
    },
    /**
     * Times in ISO 8601; `to` is null while local mode lasts. Null as a whole without a local mode since the start of the
     * process, which itself waits for Redis.
     */
    last: () => last,
    /** Since when Redis is unavailable, at the start as well; undefined while it is available. */
    unavailableSince(): string | undefined {
      if (!everAvailable) return startedAt;
      return last?.to === null ? last.from : undefined;
    },
    stop: () => clearInterval(timer),
  };
}
