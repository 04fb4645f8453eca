import { LRUCache } from 'lru-cache';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { addToSlot, slotMs } from './hot-keys.ts';

/** Why a request of an address was refused: no valid key, its limit of such requests, or a block. */
export const addressRefusals = ['unauthenticated', 'limited', 'blocked'] as const;

export type AddressRefusal = (typeof addressRefusals)[number];

export interface BusyAddresses {
  /** Counts a refused request. @param group address or IPv6 network, as the limit of addresses counts them */
  count(group: string, refusal: AddressRefusal): void;
  /** Adds the counts of the busiest addresses to those of other instances. Never rejects. */
  report(): Promise<void>;
  /** Drops the counts of an outage, which are of no use to other instances after it. */
  clear(): void;
}

interface BusyAddressesDependencies {
  redis: RedisClient;
  now: () => number;
}

/** Limit for each instance and report. An address that is spread over many instances and busy on none may be missed. */
const maxReported = 50;
/** Beyond, the one that was refused longest ago is forgotten, so that a flood from many hides none that goes on. */
const maxCounted = 10_000;

/** Counts which addresses are refused now, without a Redis command for each request. */
export function createBusyAddresses({ redis, now }: BusyAddressesDependencies): BusyAddresses {
  const counts = new LRUCache<string, { requests: number }>({ max: maxCounted });
  return {
    count(group, refusal) {
      const member = `${refusal} ${group}`;
      const entry = counts.get(member);
      if (entry === undefined) counts.set(member, { requests: 1 });
      else entry.requests += 1;
    },
    async report() {
      const busiest = Array.from(counts.entries())
        .toSorted(([, a], [, b]) => b.requests - a.requests)
        .slice(0, maxReported);
      counts.clear();
      if (busiest.length === 0) return;
      const key = redisKeys.busyAddresses(Math.floor(now() / slotMs));
      try {
        await addToSlot(
          redis,
          key,
          busiest.map(([member, { requests }]) => [member, requests]),
        );
      } catch {
        // Redis is unavailable: these counts are lost.
      }
    },
    clear: () => counts.clear(),
  };
}
