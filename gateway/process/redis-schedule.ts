import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { Logger } from 'pino';
import { createEventPublisher, createUseObserver } from '../control/webhooks/use-events.ts';
import { publishKeyPrefix } from '../platform/config/key-prefix.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import type { Announcement } from '../platform/redis/process-statuses.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { isCommandError, nameWrongType } from '../platform/redis/redis-errors.ts';
import type { RedisGate } from '../platform/redis/redis-gate.ts';
import { findRiskySettings, readRedisMemory } from '../platform/redis/redis-memory.ts';
import type { SetUpMarker } from '../platform/redis/set-up-marker.ts';
import { seedDefaults } from '../quota/default-settings.ts';
import { createFailureReports } from '../quota/failures.ts';
import type { LiveUsagePolicy } from '../quota/policies.ts';
import { createUsageReports } from '../quota/usage-reports.ts';
import { createBusyCustomers, createKeyUseReports, createUsageTotals } from '../quota/use-counts.ts';

/** Interval for plans, ban policy and the list of processes: a change is in force within a second. */
const refreshMs = 500;
/** Maximum delay of `ops top`. */
const busyReportMs = 2000;
/** Maximum delay of refused requests, totals and of who uses which key, and what a killed process loses of them. */
const usageReportMs = 5000;
/** Interval for the memory of Redis, which only alerts need. */
const memoryMs = 5000;

interface RedisScheduleDependencies {
  redis: RedisClient;
  /** Whether the gateway runs this Redis itself, and has logged how it keeps its data. */
  isPrivate: boolean;
  gate: RedisGate;
  /** Reads what operators may change at any time. */
  refreshSettings: () => Promise<void>;
  announcement: Announcement;
  reports: Reports;
  setUpMarker: SetUpMarker;
  metrics: Metrics;
  log: Logger;
}

/** Starts what a gateway does with its Redis by the clock, and each time before it uses it again. */
export function startRedisSchedule(dependencies: RedisScheduleDependencies): { stop(): void } {
  const { redis, isPrivate, gate, refreshSettings, announcement, setUpMarker } = dependencies;
  const { metrics, log } = dependencies;
  const { events, usageReports, usageTotals, busyCustomers, keyUse, failures } = dependencies.reports;

  const isLogDue = createLogThrottle();

  /** @throws Error if this process can't be announced */
  async function refresh(): Promise<void> {
    await Promise.all([refreshSettings(), setUpMarker.refresh()]);
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

  const whileOpen = (task: () => void) => () => {
    if (gate.open) task();
  };
  const timers = [
    setInterval(whileOpen(keepUp), refreshMs),
    setInterval(
      whileOpen(() => void measureMemory()),
      memoryMs,
    ),
    setInterval(() => {
      if (!gate.open) return;
      reportUsage();
      void usageTotals.report();
      void keyUse.report();
      void failures.report();
    }, usageReportMs),
    setInterval(() => {
      if (gate.open) void busyCustomers.report();
      else busyCustomers.clear();
    }, busyReportMs),
  ];
  return {
    stop() {
      for (const timer of timers) clearInterval(timer);
    },
  };
}

interface ReportsDependencies {
  redis: RedisClient;
  usagePolicy: LiveUsagePolicy;
  log: Logger;
  /** By Redis' clock. */
  now: () => number;
}

type Reports = ReturnType<typeof createReports>;

/** What this process counts beside the quotas, and adds to that of others from time to time. */
export function createReports(dependencies: ReportsDependencies) {
  const usageReports = createUsageReports(dependencies);
  const usageTotals = createUsageTotals(dependencies);
  const keyUse = createKeyUseReports(dependencies);
  const events = createEventPublisher(dependencies);
  const failures = createFailureReports(dependencies);
  const busyCustomers = createBusyCustomers(dependencies);
  const { decided, banned } = createUseObserver(events);
  return {
    events,
    usageReports,
    usageTotals,
    busyCustomers,
    keyUse,
    failures,
    /** All that count decisions. */
    decisionListeners: [decided, usageReports.count, busyCustomers.count, keyUse.count, usageTotals.count],
    onBan: banned,
    /** The last report. Never rejects. */
    async reportAll(): Promise<void> {
      await usageReports.report().catch(() => {});
      await events.flush();
      await Promise.all([usageTotals.report(true), keyUse.report(true), failures.report(true)]);
    },
  };
}
