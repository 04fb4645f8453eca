import type { Logger } from 'pino';
import type { Metrics } from '../platform/observability/metrics.ts';
import type { ProcessStatus } from '../platform/observability/process-status.ts';
import { createLocalModeTimes } from '../platform/redis/local-mode-times.ts';
import { createAnnouncement, type EndCause } from '../platform/redis/process-statuses.ts';
import { createRedis } from '../platform/redis/redis-client.ts';
import { createRedisClock } from '../platform/redis/redis-clock.ts';
import { createRedisGate } from '../platform/redis/redis-gate.ts';
import { pingRedis } from '../platform/redis/redis-health.ts';
import { createSetUpMarker } from '../platform/redis/set-up-marker.ts';
import { createTrafficReporter } from '../quota/traffic.ts';
import { createLiveSettings } from './live-settings.ts';
import { startRedisSchedule } from './redis-schedule.ts';
import { createReports } from './reports.ts';

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
    onCommand: (ms) => metrics.redisSeconds.observe(ms / 1000),
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
    async close(cause?: EndCause): Promise<void> {
      localMode.stop();
      schedule.stop();
      if (gate.open) {
        await announcement.withdraw(cause);
        await reports.reportAll();
      }
      await trafficReporter.close();
      reports.usageReports.logPending();
      gate.close();
      redis.disconnect();
    },
  };
}
