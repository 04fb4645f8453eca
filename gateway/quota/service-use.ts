import { dayNumberOf } from '../limits/utc-day.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys, type CustomerId } from '../redis/redis-keys.ts';
import type { LiveUsagePolicy } from './usage-policy.ts';
import { createWaitingCounts } from './waiting-counts.ts';

export interface ServiceUseReports {
  /**
   * Counts a request that counted towards the quotas, for an operation of a service.
   * @param served -1 if it was counted before, and does not count any more; its units are negative then, too
   */
  count(customerId: CustomerId, service: string, units: number, served?: 1 | -1): void;
  /** Adds the counts to the months' records. Never rejects: what Redis does not confirm is lost. @param all also what could wait */
  report(all?: boolean): Promise<void>;
}

interface ServiceUseDependencies {
  redis: RedisClient;
  usagePolicy: Pick<LiveUsagePolicy, 'current'>;
  now: () => number;
}

/** Use of one customer and day that was not reported yet. */
interface CountedDay {
  customerId: CustomerId;
  dayNumber: number;
  services: Map<string, { served: number; units: number }>;
}

/** Further customers are not counted until the next report, so that memory stays bounded. */
const maxCustomers = 100_000;
/** Customers of one report: Redis has other things to do. The others wait for the next one. */
const maxReported = 2000;

/** Counts which services a customer's requests are for, without a Redis command for each request. */
export function createServiceUseReports({
  redis,
  usagePolicy,
  now,
}: ServiceUseDependencies): ServiceUseReports {
  const days = createWaitingCounts<CountedDay>({
    redis,
    max: maxCustomers,
    maxReported,
    send({ customerId, dayNumber, services }) {
      const counts = Array.from(services, ([service, { served, units }]) => [service, served, units]);
      const { retentionDays } = usagePolicy.current();
      return redis.addServiceUse(redisKeys.dayPrefix(customerId), dayNumber, retentionDays, ...counts.flat());
    },
  });

  return {
    count(customerId, service, units, served = 1) {
      const dayNumber = dayNumberOf(now());
      const day = days.get(`${customerId}:${dayNumber}`, () => ({
        customerId,
        dayNumber,
        services: new Map(),
      }));
      if (day === undefined) return;
      const use = day.services.get(service);
      if (use === undefined) day.services.set(service, { served, units });
      else {
        use.served += served;
        use.units += units;
      }
    },
    report: days.report,
  };
}
