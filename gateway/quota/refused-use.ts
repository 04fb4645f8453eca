import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys, type KeyPlace } from '../redis/redis-keys.ts';
import { addToSlot, slotMs } from './hot-keys.ts';

/** Requests of one address with a key that was revoked or has expired. */
export const refusedUseSchema = z.object({
  address: z.string().describe('An IPv4 address or an IPv6 network of 56 bits'),
  from: z.iso.datetime().describe('Time of the first one'),
  to: z.iso.datetime().describe('Time of the last one'),
  requests: z.int(),
});

export type RefusedUse = z.infer<typeof refusedUseSchema>;

export interface RefusedUseReports {
  /** Counts one request of a key. @param group address or IPv6 network */
  count(key: KeyPlace & { id: string }, group: string): void;
  /** Adds all counts to those in Redis. Never rejects: what it does not confirm is lost. */
  report(): Promise<void>;
}

interface RefusedUseDependencies {
  redis: RedisClient;
  now: () => number;
}

/** Addresses of a key that are kept; the one seen longest ago is forgotten. */
const maxAddresses = 10;
/** Keys of a report. Beyond, the one that was used longest ago is forgotten. */
const maxKeys = 1000;
/** Keys of a report that are named among those in use now. */
const maxReported = 10;
/** How long it is kept of a record without an expiry. */
const keptMs = 90 * 86_400_000;

interface Use {
  fromMs: number;
  toMs: number;
  requests: number;
}

/** Counts who goes on with keys that have ended, without a Redis command for each request. */
export function createRefusedUseReports({ redis, now }: RefusedUseDependencies): RefusedUseReports {
  const keys = new LRUCache<string, { id: string; place: KeyPlace; addresses: LRUCache<string, Use> }>({
    max: maxKeys,
  });
  return {
    count({ id, customerId, keyHash }, group) {
      let key = keys.get(keyHash);
      if (key === undefined) {
        key = { id, place: { customerId, keyHash }, addresses: new LRUCache({ max: maxAddresses }) };
        keys.set(keyHash, key);
      }
      const { addresses } = key;
      const nowMs = Math.floor(now());
      const use = addresses.get(group) ?? { fromMs: nowMs, toMs: nowMs, requests: 0 };
      use.toMs = nowMs;
      use.requests += 1;
      addresses.set(group, use);
    },
    async report() {
      const used = Array.from(keys.values(), ({ id, addresses }): [string, number] => [
        id,
        Array.from(addresses.values()).reduce((sum, { requests }) => sum + requests, 0),
      ]);
      const busiest = used.toSorted(([, one], [, other]) => other - one).slice(0, maxReported);
      const reports = Array.from(keys.values(), ({ place, addresses }) =>
        redis.addRefusedUse(
          redisKeys.apiKey(place),
          redisKeys.refusedUse(place),
          maxAddresses,
          keptMs,
          ...Array.from(addresses.entries()).flatMap(([address, { fromMs, toMs, requests }]) => [
            address,
            fromMs,
            toMs,
            requests,
          ]),
        ),
      );
      keys.clear();
      // Redis is unavailable, which the gate reports.
      await Promise.allSettled([
        ...reports,
        ...(busiest.length === 0
          ? []
          : [addToSlot(redis, redisKeys.busyEnded(Math.floor(now() / slotMs)), busiest)]),
      ]);
    },
  };
}

/** Reads who went on with a key after its end, the latest first. What was edited by hand is left out. */
export async function readRefusedUse(redis: RedisClient, place: KeyPlace): Promise<RefusedUse[]> {
  const fields = await redis.hgetall(redisKeys.refusedUse(place)).catch((error: unknown) => {
    if (isWrongType(error)) return {};
    throw error;
  });
  return Object.entries(fields)
    .flatMap(([address, text]): RefusedUse[] => {
      const [, from, to, requests] = /^(\d{1,15}) (\d{1,15}) (\d{1,15})$/.exec(text) ?? [];
      if (requests === undefined) return [];
      return [{ address, from: isoTime(from), to: isoTime(to), requests: Number(requests) }];
    })
    .toSorted((one, other) => other.to.localeCompare(one.to));
}

const isoTime = (ms: string | undefined) => new Date(Number(ms)).toISOString();
