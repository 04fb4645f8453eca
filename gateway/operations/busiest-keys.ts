import { slotMs } from '../quota/hot-keys.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { scoredMembers } from '../redis/scored-members.ts';
import { ignoreInvalid } from './invalid-operation.ts';
import { nameKeys } from './key-ids.ts';
import { createUsageReader, type KeyUsage } from './key-usage.ts';
import type { ReadingSession, Session } from './session.ts';

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

/** Requests with a key that was revoked or has expired, within the last minute. */
export interface EndedKeyUse {
  id: string;
  /** Empty if its record is gone. */
  name: string;
  requests: number;
}

/** More would hide other problems. */
const maxNamed = 3;

/** Ended keys with the most requests in the last minute on all instances, busiest first. Counts appear within 5 s. */
export async function readBusiestEndedKeys(session: ReadingSession): Promise<EndedKeyUse[]> {
  const slots = newestSlots(session.now());
  const members = await session.redis.zunion(slots.length, slots.map(redisKeys.busyEnded), 'WITHSCORES');
  const busiest = scoredMembers(members)
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, maxNamed)
    .map(([id, requests]) => ({ id, requests }));
  return nameKeys(session, busiest);
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
