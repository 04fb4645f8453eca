import { slotMs } from '../quota/hot-keys.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { scoredMembers } from '../redis/scored-members.ts';
import { ignoreInvalid } from './invalid-operation.ts';
import { createUsageReader, type KeyUsage } from './key-usage.ts';
import type { Session } from './session.ts';

/** Requests of one key within the last minute. */
export interface BusyKey {
  id: string;
  requests: number;
  refused: number;
}

/** The last minute, with the slot that is being filled. */
const slotCount = 6;

/** Keys with the most requests in the last minute on all instances, busiest first. */
export async function readBusiestKeys(redis: RedisClient, count: number, nowMs: number): Promise<BusyKey[]> {
  const newest = Math.floor(nowMs / slotMs);
  const slots = Array.from({ length: slotCount }, (_, index) => newest - index);
  const [requests, refused] = await Promise.all([
    redis.zunion(slotCount, slots.map(redisKeys.busy), 'WITHSCORES'),
    redis.zunion(slotCount, slots.map(redisKeys.busyRefused), 'WITHSCORES'),
  ]);
  const refusedById = new Map(scoredMembers(refused));
  return scoredMembers(requests)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([id, score]) => ({ id, requests: score, refused: refusedById.get(id) ?? 0 }));
}

/** Requests of a key in the last minute, and its usage. */
export type BusyKeyUsage = Pick<BusyKey, 'requests' | 'refused'> & KeyUsage;

/** The keys with the most requests in the last minute on all instances, busiest first. */
export async function readBusiestKeyUsage(session: Session, count: number): Promise<BusyKeyUsage[]> {
  const reader = await createUsageReader(session);
  const busiest = await readBusiestKeys(session.redis, count, session.now());
  const rows = await Promise.all(
    busiest.map(async ({ id, requests, refused }) => {
      // Its record may be gone, or invalid.
      const usage = await ignoreInvalid(reader.read(id));
      return usage === undefined ? undefined : Object.assign(usage, { requests, refused });
    }),
  );
  return rows.filter((row) => row !== undefined);
}
