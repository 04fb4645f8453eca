import { slotMs } from '../quota/hot-keys.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { scoredMembers } from '../redis/scored-members.ts';

/** Requests of one key within the last minute. */
export interface BusyKey {
  id: string;
  requests: number;
  refused: number;
}

/** The last minute, with the slot that is being filled. */
const slotCount = 6;

/** Slots of the last minute, or fewer, the one that is being filled first. */
export function newestSlots(nowMs: number, count = slotCount): number[] {
  const newest = Math.floor(nowMs / slotMs);
  return Array.from({ length: count }, (_, index) => newest - index);
}

/** Keys with the most requests in the last minute on all instances, busiest first. */
export async function readBusiestKeys(redis: RedisClient, count: number, nowMs: number): Promise<BusyKey[]> {
  const slots = newestSlots(nowMs);
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
