import type { Counter } from '@prometheus-io/client';
import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { Logger } from 'pino';
import { createEventPublisher, createUseObserver } from '../control/webhooks/use-events.ts';
import { publishKeyPrefix } from '../platform/config/key-prefix.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import { createAnnouncement, type ProcessStatus } from '../platform/redis/process-statuses.ts';
import { createRedis } from '../platform/redis/redis-client.ts';
import { isCommandError, nameWrongType } from '../platform/redis/redis-errors.ts';
import { createRedisClock, createRedisGate, pingRedis } from '../platform/redis/redis-gate.ts';
import { findRiskySettings, readRedisMemory } from '../platform/redis/redis-memory.ts';
import { createSetUpMarker } from '../platform/redis/set-up-marker.ts';
import { seedDefaults } from '../quota/default-settings.ts';
import { createFailureReports } from '../quota/failures.ts';
import { createTrafficReporter, reportMs } from '../quota/traffic.ts';
import { createUsageReports } from '../quota/usage-reports.ts';
import { createBusyCustomers, createKeyUseReports, createUsageTotals } from '../quota/use-counts.ts';
import { createLiveSettings } from './live-settings.ts';

/** Interval for plans, ban policy and the list of processes: a change is in force within a second. */
const refreshMs = 500;
/** Interval for the seconds while local mode lasts. */
const localModeMs = 1000;
/** Maximum delay of `ops top`. */
const busyReportMs = 2000;
/** Interval for the memory of Redis, which only alerts need. */
const memoryMs = 5000;

interface RedisStateDependencies {
  url: string;
  /** Whether the gateway runs this Redis itself, and has logged how it keeps its data. */
  isPrivate: boolean;
  log: Logger;
  metrics: Metrics;
  /** What this process says of itself. */
  readStatus: () => Promise<ProcessStatus>;
}

/** Redis, what is read from it continually, and what replaces it during an outage. */
export function createRedisState(dependencies: RedisStateDependencies) {
  const parts = createParts(dependencies);
  const { redis, gate, announcement, usageReports } = parts;
  const timers = startSchedule({ ...dependencies, ...parts });
  return {
    ...parts,
    /** Resolves when Redis is available, or when the time is over. @returns whether it is available */
    async waitUntilOpen(timeoutMs: number): Promise<boolean> {
      const deadline = performance.now() + timeoutMs;
      while (!gate.open && performance.now() < deadline)
        await new Promise((resolve) => setTimeout(resolve, 20));
      return gate.open;
    },
    /** Reports pending counts and disconnects. */
    async close(): Promise<void> {
      for (const timer of timers) clearInterval(timer);
      if (gate.open) {
        await announcement.withdraw();
        await usageReports.report().catch(() => {});
        await parts.events.flush();
        await Promise.all([parts.usageTotals, parts.keyUse, parts.failures].map((each) => each.report(true)));
      }
      await parts.traffic.report();
      usageReports.logPending();
      gate.close();
      redis.disconnect();
    },
  };
}

function createParts({ url, log, metrics, readStatus }: RedisStateDependencies) {
  const redis = createRedis(url, log);
  const clock = createRedisClock({ redis, now: Date.now });
  /** Unix milliseconds by Redis' clock. */
  const { now } = clock;
  const settings = createLiveSettings({ redis, log, metrics, now });
  const localMode = createLocalModeTimes(now, metrics.localModeSeconds);
  metrics.localMode.set(1);
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
  const counting = { redis, usagePolicy: settings.usagePolicy, log, now };
  const usageReports = createUsageReports(counting);
  const usageTotals = createUsageTotals(counting);
  const busyCustomers = createBusyCustomers(counting);
  const keyUse = createKeyUseReports(counting);
  const events = createEventPublisher(counting);
  const { decided, banned } = createUseObserver(events);
  return {
    redis,
    gate,
    now,
    localMode,
    ...settings,
    usageReports,
    usageTotals,
    busyCustomers,
    keyUse,
    events,
    failures: createFailureReports(counting),
    traffic: createTrafficReporter({ redis, gate, now, metrics, log }),
    /** All that count decisions. */
    decisionListeners: [decided, usageReports.count, busyCustomers.count, keyUse.count, usageTotals.count],
    onBan: banned,
    announcement: createAnnouncement({ redis, readStatus, enforced: settings.enforced, now }),
    setUpMarker: createSetUpMarker({
      redis,
      log,
      onChange: (isMissing) => metrics.redisEmptied.set(isMissing ? 1 : 0),
    }),
  };
}

/** Starts what a gateway does with its Redis by the clock, and each time before it uses it again. @returns the timers */
function startSchedule(parts: RedisStateDependencies & ReturnType<typeof createParts>): NodeJS.Timeout[] {
  const { redis, isPrivate, gate, announcement, setUpMarker, metrics, log } = parts;
  const { events, usageReports, usageTotals, busyCustomers, keyUse, failures } = parts;
  const isLogDue = createLogThrottle();

  /** @throws Error if this process can't be announced */
  async function refresh(): Promise<void> {
    await Promise.all([parts.refreshSettings(), setUpMarker.refresh()]);
    // After the settings were read, so that it publishes what is in force.
    await announcement.publish();
  }

  function keepUp(): void {
    // Notices an outage without traffic.
    void gate.check();
    refresh().catch((error: unknown) => {
      // The gate notices an unavailable Redis, and logs it once.
      if (!isCommandError(error)) return;
      const err = nameWrongType(error);
      if (isLogDue(String(err)))
        log.error({ err }, 'this gateway cannot read settings from Redis, or announce itself there');
    });
    // Requests may have been decided locally at the very moment in which Redis came back.
    if (usageReports.pending() > 0) reportUsage();
    if (events.pending() > 0) void events.flush();
  }

  function reportUsage(): void {
    void usageReports.report().catch(() => {});
  }

  async function measureMemory(): Promise<void> {
    const memory = await readRedisMemory(redis);
    metrics.redisMemoryUsed.set(memory?.usedBytes ?? 0);
    metrics.redisMemoryLimit.set(memory?.limitBytes ?? 0);
  }

  const loggedRisks = new Set<string>();
  async function logRisks(): Promise<void> {
    for (const risk of await findRiskySettings(redis).catch(() => [])) {
      if (!loggedRisks.has(risk)) log.warn(`Redis: ${risk}`);
      loggedRisks.add(risk);
    }
  }

  let started = false;
  gate.beforeOpening(async () => {
    // Later, what is missing was lost, and this instance still enforces it.
    if (!started && (await seedDefaults(redis, 'gateway', isPrivate ? 0 : undefined)))
      log.info(
        'Redis was empty, and has the built-in plans now; if it should have held keys, see "Redis came back empty" in gateway/REDIS.md',
      );
    // The announcement is a write, so that a Redis that refuses writes is not used.
    await refresh();
    await publishKeyPrefix(redis);
    started = true;
    await usageReports.report();
    void measureMemory();
    if (!isPrivate) void logRisks();
  });

  return [
    setInterval(() => {
      if (gate.open) keepUp();
    }, refreshMs),
    setInterval(parts.localMode.count, localModeMs),
    setInterval(() => {
      if (gate.open) void measureMemory();
    }, memoryMs),
    setInterval(() => {
      void parts.traffic.report();
      if (!gate.open) return;
      reportUsage();
      void usageTotals.report();
      void keyUse.report();
      void failures.report();
    }, reportMs),
    setInterval(() => {
      if (gate.open) void busyCustomers.report();
      else busyCustomers.clear();
    }, busyReportMs),
  ];
}

/**
 * When, and for how many seconds, this process decides without Redis, as it does at its start.
 * @param now Unix milliseconds by Redis' clock, as last known
 */
function createLocalModeTimes(now: () => number, seconds: Pick<Counter, 'inc'>) {
  const iso = () => new Date(now()).toISOString();
  /** The last one; that of the start until Redis is available. */
  let period: { from: string; to: string | null } = { from: iso(), to: null };
  let isFirst = true;
  let countedAtMs = performance.now();

  function count(): void {
    const atMs = performance.now();
    if (period.to === null) seconds.inc((atMs - countedAtMs) / 1000);
    countedAtMs = atMs;
  }

  return {
    /** Counts the seconds since it was last called. */
    count,
    /** To be called when local mode begins (true) or ends. */
    changed(local: boolean): void {
      count();
      isFirst &&= !local;
      period = local ? { from: iso(), to: null } : { ...period, to: iso() };
    },
    /**
     * Times in ISO 8601; `to` is null while local mode lasts. Null as a whole without a local mode since the start of the
     * process, which itself waits for Redis.
     */
    last: () => (isFirst ? null : period),
    /** Since when Redis is unavailable, at the start as well; undefined while it is available. */
    unavailableSince: () => (period.to === null ? period.from : undefined),
  };
}
