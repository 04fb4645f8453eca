import type { Logger } from 'pino';
import { createEventPublisher } from '../control/webhooks/event-publisher.ts';
import { createUseObserver } from '../control/webhooks/use-events.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { createFailureReports } from '../quota/failures.ts';
import type { LiveUsagePolicy } from '../quota/policies.ts';
import { createBusyCustomers } from '../quota/traffic.ts';
import { createUsageReports } from '../quota/usage-reports.ts';
import { createKeyUseReports, createUsageTotals } from '../quota/use-counts.ts';

interface ReportsDependencies {
  redis: RedisClient;
  usagePolicy: LiveUsagePolicy;
  log: Logger;
  /** By Redis' clock. */
  now: () => number;
}

export type Reports = ReturnType<typeof createReports>;

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
