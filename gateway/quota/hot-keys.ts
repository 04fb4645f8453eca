import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { scoredMembers } from '../redis/scored-members.ts';

export interface BusyKeys {
  /** Notes one request of a key. */
  note(id: string, refused: boolean): void;
  /** Adds what was noted of the busiest keys to what other instances have seen. Never rejects. */
  report(): Promise<void>;
  /** What was busy during an outage is of no interest after it. */
  forget(): void;
}

/** Requests of one key within the time that {@link readBusiest} looks back on. */
export interface BusyKey {
  id: string;
  requests: number;
  refused: number;
}

const slotMs = 10_000;
/** So many slots are added up: the last minute, the slot that is being filled included. */
const shownSlots = 6;
const keptSeconds = 120;
/** Of each instance and report. A key that is spread over many instances and busy on none may be missed. */
const reportedKeys = 50;
/** Keys beyond are not noted until the next report: memory stays bounded, whoever sends what. */
const notedKeys = 10_000;

/** Which keys are busy now, counted beside the quotas and without a Redis command a request. */
export function createBusyKeys({ redis, now }: { redis: RedisClient; now: () => number }): BusyKeys {
  let noted = new Map<string, { requests: number; refused: number }>();
  return {
    note(id, refused) {
      let count = noted.get(id);
      if (count === undefined) {
        if (noted.size >= notedKeys) return;
        count = { requests: 0, refused: 0 };
        noted.set(id, count);
      }
      count.requests += 1;
      if (refused) count.refused += 1;
    },
    async report() {
      if (noted.size === 0) return;
      const busiest = [...noted].toSorted(([, a], [, b]) => b.requests - a.requests).slice(0, reportedKeys);
      noted = new Map();
      const slot = Math.floor(now() / slotMs);
      const [requestsKey, refusedKey] = [redisKeys.busy(slot), redisKeys.busyRefused(slot)];
      try {
        await Promise.all([
          ...busiest.map(([id, { requests }]) => redis.zincrby(requestsKey, requests, id)),
          ...busiest.flatMap(([id, { refused }]) =>
            refused === 0 ? [] : [redis.zincrby(refusedKey, refused, id)],
          ),
          redis.expire(requestsKey, keptSeconds),
          redis.expire(refusedKey, keptSeconds),
        ]);
      } catch {
        // Redis is away: see forget.
      }
    },
    forget() {
      noted = new Map();
    },
  };
}

/** The keys with most requests in the last minute on all instances, busiest first. */
export async function readBusiest(redis: RedisClient, count: number, nowMs: number): Promise<BusyKey[]> {
  const newest = Math.floor(nowMs / slotMs);
  const slots = Array.from({ length: shownSlots }, (_, index) => newest - index);
  const [requests, refused] = await Promise.all([
    redis.zunion(shownSlots, slots.map(redisKeys.busy), 'WITHSCORES'),
    redis.zunion(shownSlots, slots.map(redisKeys.busyRefused), 'WITHSCORES'),
  ]);
  const refusedById = new Map(scoredMembers(refused));
  return scoredMembers(requests)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([id, score]) => ({ id, requests: score, refused: refusedById.get(id) ?? 0 }));
}
