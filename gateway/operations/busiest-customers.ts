import { refusedMember, slotMs } from '../quota/busy-customers.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isCustomerId, redisKeys, type CustomerId } from '../redis/redis-keys.ts';
import { scoredMembers } from '../redis/scored-members.ts';
import type { CustomerView } from './customers.ts';
import { ignoreInvalid } from './invalid-operation.ts';
import { createUsageReader, type KeyUsage } from './key-usage.ts';
import type { WindowViews } from './key-windows.ts';
import type { Session } from './session.ts';

/** Requests of a customer in the last minute, with all of its keys together. */
export interface BusyCustomer {
  id: CustomerId;
  requests: number;
  refused: number;
}

/** The same with its usage. It has no strikes and no ban: those are of keys. */
export interface BusyCustomerUsage extends BusyCustomer, WindowViews, Pick<KeyUsage, 'name' | 'plan'> {
  state: CustomerView['state'];
}

/** The last minute, with the slot that is being filled. */
const slotCount = 6;

/** The customers with the most requests in the last minute on all instances, busiest first. */
export async function readBusiestCustomerUsage(
  session: Session,
  count: number,
): Promise<BusyCustomerUsage[]> {
  const reader = await createUsageReader(session);
  const busiest = await readBusiestCustomers(session.redis, session.now());
  const rows = await Promise.all(
    busiest.slice(0, count).map(async (counts) => {
      // Its record may be gone, or invalid.
      const usage = await ignoreInvalid(reader.read(counts.id));
      if (usage === undefined) return undefined;
      const { strikes: _strikes, strikesToBan: _toBan, ban: _ban, ...ofCustomer } = usage;
      const state = usage.state === 'suspended' ? ('suspended' as const) : ('active' as const);
      return Object.assign(ofCustomer, counts, { state });
    }),
  );
  return rows.filter((row) => row !== undefined);
}

/** All customers with requests in the last minute, as far as gateways report them, busiest first. */
export async function readBusiestCustomers(redis: RedisClient, nowMs: number): Promise<BusyCustomer[]> {
  const newest = Math.floor(nowMs / slotMs);
  const slots = Array.from({ length: slotCount }, (_, index) => newest - index);
  const scores = new Map(
    scoredMembers(await redis.zunion(slotCount, slots.map(redisKeys.busy), 'WITHSCORES')),
  );
  return Array.from(scores)
    .flatMap(([id, requests]) =>
      isCustomerId(id) ? [{ id, requests, refused: scores.get(refusedMember(id)) ?? 0 }] : [],
    )
    .toSorted((one, other) => other.requests - one.requests);
}
