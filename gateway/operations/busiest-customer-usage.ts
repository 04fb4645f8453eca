import type { RedisClient } from '../redis/redis-client.ts';
import type { CustomerId } from '../redis/redis-keys.ts';
import { placesOf } from './api-key-index.ts';
import { readBusiestKeys, type BusyKey } from './busiest-keys.ts';
import type { CustomerView } from './customers.ts';
import { ignoreInvalid } from './invalid-operation.ts';
import { createUsageReader, type KeyUsage } from './key-usage.ts';
import type { WindowViews } from './key-windows.ts';
import type { Session } from './session.ts';

/** Requests of a customer in the last minute, with all of its keys together. */
export interface BusyCustomer extends Pick<BusyKey, 'requests' | 'refused'> {
  id: CustomerId;
  /** Keys with requests in that minute. */
  keys: number;
}

/** The same with its usage. It has no strikes and no ban: those are of keys. */
export interface BusyCustomerUsage extends BusyCustomer, WindowViews, Pick<KeyUsage, 'name' | 'plan'> {
  state: CustomerView['state'];
}

/** Maximum number of ids in one Redis command, which delays requests for as long as it runs. */
const lookUpSize = 500;

/**
 * The customers with the most requests in the last minute on all instances, busiest first. Each instance reports its busiest
 * keys alone (hot-keys.ts), so a customer that spreads its requests over many keys may have had more.
 */
export async function readBusiestCustomerUsage(
  session: Session,
  count: number,
): Promise<BusyCustomerUsage[]> {
  const reader = await createUsageReader(session);
  const busiest = await readBusiestCustomers(session.redis, count, session.now());
  const rows = await Promise.all(
    busiest.map(async (counts) => {
      // Its record may be gone, or invalid.
      const usage = await ignoreInvalid(reader.read(counts.id));
      if (usage === undefined) return undefined;
      const {
        strikes: _strikes,
        strikesToBan: _toBan,
        violations: _violations,
        ban: _ban,
        ...ofCustomer
      } = usage;
      const state = usage.state === 'suspended' ? ('suspended' as const) : ('active' as const);
      return Object.assign(ofCustomer, counts, { state });
    }),
  );
  return rows.filter((row) => row !== undefined);
}

/** The customers with the most requests in the last minute, busiest first. */
export async function readBusiestCustomers(
  redis: RedisClient,
  count: number,
  nowMs: number,
): Promise<BusyCustomer[]> {
  // All of them: many keys that are not busy may add up to the busiest customer.
  const keys = await readBusiestKeys(redis, Number.POSITIVE_INFINITY, nowMs);
  const customers = new Map<CustomerId, BusyCustomer>();
  for (let start = 0; start < keys.length; start += lookUpSize) {
    const page = keys.slice(start, start + lookUpSize);
    const places = await placesOf(
      redis,
      page.map(({ id }) => id),
    );
    for (const [index, { requests, refused }] of page.entries()) {
      const id = places[index]?.customerId;
      // The record of the key is gone.
      if (id === undefined) continue;
      const sums = customers.get(id) ?? { id, keys: 0, requests: 0, refused: 0 };
      sums.keys += 1;
      sums.requests += requests;
      sums.refused += refused;
      customers.set(id, sums);
    }
  }
  return [...customers.values()].toSorted((a, b) => b.requests - a.requests).slice(0, count);
}
