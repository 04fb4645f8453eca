import { z } from 'zod';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { isCustomerId, redisKeys } from '../../platform/redis/redis-keys.ts';
import { scoredMembers } from '../../platform/redis/redis-values.ts';
import { refusedMember, slotMs } from '../../quota/use-counts.ts';
import { ignoreInvalid } from '../invalid-operation.ts';
import type { Session } from '../session.ts';
import { readCustomerUse, windowViewsSchema } from './customer-limits.ts';
import { customerState, customerViewSchema } from './find-customers.ts';
import { showCustomer } from './stored-customers.ts';

/** Requests of a customer in the last minute, with all of its keys together. */
export type BusyCustomer = Awaited<ReturnType<typeof readBusiestCustomers>>[number];

/** The same with its usage. It has no strikes and no ban: those are of keys. */
export const busyCustomerSchema = customerViewSchema
  .pick({ name: true, plan: true, state: true })
  .extend({
    id: z.string(),
    requests: z.int(),
    refused: z.int(),
    ...windowViewsSchema.shape,
  })
  .meta({ id: 'BusyCustomer' });

export type BusyCustomerUsage = z.infer<typeof busyCustomerSchema>;

/** The last minute, with the slot that is being filled. */
const slotCount = 6;

/** The customers with the most requests in the last minute on all instances, busiest first. */
export async function readBusiestCustomerUsage(session: Session, count: number) {
  const busiest = await readBusiestCustomers(session.redis, session.now());
  const rows = await Promise.all(
    busiest.slice(0, count).map(async (counts) => {
      const record = await ignoreInvalid(showCustomer(session.redis, counts.id));
      if (record === undefined) return [];
      const { windows } = await readCustomerUse(session.redis, record);
      const { name, plan } = record;
      return Object.assign(counts, { name, plan, state: customerState(record), ...windows });
    }),
  );
  return rows.flat();
}

/** All customers with requests in the last minute, as far as gateways report them, busiest first. */
export async function readBusiestCustomers(redis: RedisClient, nowMs: number) {
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
