import type { RedisClient } from '../platform/redis/redis-client.ts';
import { redisKeys, type CustomerId } from '../platform/redis/redis-keys.ts';
import type { DecisionListener } from './quota-decision.ts';

export interface BusyCustomers {
  count: DecisionListener;
  /** Adds the counts of the busiest customers to those of other instances. Never rejects. */
  report(): Promise<void>;
  /** Drops the counts of an outage, which are of no use to other instances after it. */
  clear(): void;
}

interface BusyCustomersDependencies {
  redis: RedisClient;
  now: () => number;
}

/** Member for the refused requests of a customer, beside its id for all of them. */
export const refusedMember = (customerId: CustomerId) => `${customerId}:refused`;

/** Length of the slot that requests are counted in. */
export const slotMs = 10_000;
const keptSeconds = 120;
/** Limit for each instance and report. A customer that is spread over many instances and busy on none may be missed. */
const maxReported = 50;
/** Further customers are not counted until the next report, so that memory stays bounded whatever clients send. */
const maxCounted = 10_000;

/** Adds counts to those of other instances in a sorted set of a slot. @throws Error if Redis is unavailable */
async function addToSlot(
  redis: RedisClient,
  key: string,
  counts: readonly [member: string, count: number][],
): Promise<void> {
  const added = counts.map(([member, count]) => redis.zincrby(key, count, member));
  await Promise.all([...added, redis.expire(key, keptSeconds)]);
}

/** Counts which customers are busy now, beside the quotas and without a Redis command for each request. */
export function createBusyCustomers({ redis, now }: BusyCustomersDependencies): BusyCustomers {
  let counts = new Map<CustomerId, { requests: number; refused: number }>();

  function takeCounts() {
    const taken = counts;
    counts = new Map();
    return taken;
  }

  return {
    count({ customerId }, { outcome }) {
      let entry = counts.get(customerId);
      if (entry === undefined) {
        if (counts.size >= maxCounted) return;
        entry = { requests: 0, refused: 0 };
        counts.set(customerId, entry);
      }
      entry.requests += 1;
      if (outcome !== 'allowed') entry.refused += 1;
    },
    async report() {
      if (counts.size === 0) return;
      const busiest = [...takeCounts()]
        .toSorted(([, a], [, b]) => b.requests - a.requests)
        .slice(0, maxReported);
      const slot = Math.floor(now() / slotMs);
      const reported = busiest.flatMap(([id, { requests, refused }]): [string, number][] =>
        refused === 0
          ? [[id, requests]]
          : [
              [id, requests],
              [refusedMember(id), refused],
            ],
      );
      try {
        await addToSlot(redis, redisKeys.busy(slot), reported);
      } catch {
        // Redis is unavailable: these counts are lost.
      }
    },
    clear() {
      takeCounts();
    },
  };
}
