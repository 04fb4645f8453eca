import { redisKeys } from '../redis/redis-keys.ts';
import { scoredMembers } from '../redis/scored-members.ts';
import { newestSlots } from './busiest-keys.ts';
import { nameKeys } from './plan-impact.ts';
import type { Session } from './session.ts';

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
export async function readBusiestEndedKeys(session: Pick<Session, 'redis' | 'now'>): Promise<EndedKeyUse[]> {
  const slots = newestSlots(session.now());
  const members = await session.redis.zunion(slots.length, slots.map(redisKeys.busyEnded), 'WITHSCORES');
  const busiest = scoredMembers(members)
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, maxNamed)
    .map(([id, requests]) => ({ id, requests }));
  return nameKeys(session, busiest);
}
