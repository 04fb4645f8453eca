import { z } from 'zod';
import type { Limits } from '../../limits/limits.ts';
import { windowNames, windowOf } from '../../limits/windows.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys, type CustomerId } from '../../platform/redis/redis-keys.ts';
import { readBusiestCustomers, type BusyCustomer } from '../customers/busiest-customers.ts';
import { readWindows } from '../customers/customer-limits.ts';
import { customerPages, showCustomer } from '../customers/stored-customers.ts';
import { ignoreInvalid } from '../invalid-operation.ts';
import type { ReadingSession } from '../session.ts';

/** A customer that has used up a limit. */
export const customerAboveSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    window: z.enum(windowNames).describe('The window that is used most, by share of its limit'),
    used: z.int(),
    limit: z.int(),
  })
  .meta({ id: 'CustomerAbove' });

export type CustomerAbove = z.infer<typeof customerAboveSchema>;

export const aboveInWords = ({ id, name, window, used, limit }: CustomerAbove): string =>
  `${id} ${name}, ${used} of ${limit} ${windowOf(window).each}`;

/** Number of customers on each plan that has any. Reads the plan of each: 100,000 take a second or two. */
export async function countPlanCustomers(redis: RedisClient): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for await (const page of customerPages(redis, 500)) {
    for (const plan of await Promise.all(page.map((id) => readPlan(redis, id)))) {
      if (plan !== null) counts.set(plan, (counts.get(plan) ?? 0) + 1);
    }
  }
  return counts;
}

/** How many of the busiest customers of a plan are compared with other limits. */
const comparedCustomers = 10;

/** Which of the ten busiest customers of a plan in the last minute have used up these limits of it now. */
export async function findBusiestAbove({ redis, now }: ReadingSession, plan: string, limits: Limits) {
  const busiest = await readBusiestCustomers(redis, now());
  const plans = await Promise.all(busiest.map(({ id }) => readPlan(redis, id)));
  const compared = busiest.filter((_customer, index) => plans[index] === plan).slice(0, comparedCustomers);
  const above = await Promise.all(compared.map((customer) => readAbove(redis, customer, limits)));
  return above.flat();
}

/** A limit of the customer's own does not change with the plan. */
async function readAbove(
  redis: RedisClient,
  { id, requests }: BusyCustomer,
  limits: Limits,
): Promise<CustomerAbove[]> {
  const record = await ignoreInvalid(showCustomer(redis, id));
  if (record === undefined) return [];
  const { windows } = await readWindows(redis, { customerId: id, keyHash: '' }, limits);
  const above = windowNames.flatMap((window) => {
    const limit = record[window] === undefined ? limits[window] : undefined;
    // The window of a minute may have just begun.
    const used = Math.max(windows[window]?.used ?? 0, window === 'minute' ? requests : 0);
    return limit === undefined || used < limit ? [] : [{ id, name: record.name, window, used, limit }];
  });
  return above.toSorted((one, other) => other.used / other.limit - one.used / one.limit).slice(0, 1);
}

const readPlan = (redis: RedisClient, id: CustomerId) => redis.hget(redisKeys.customer(id), 'plan');
