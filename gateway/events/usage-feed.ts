import { dayMs, dayNumberOf, utcDate } from '../limits/utc-day.ts';
import { readUsageDays } from '../quota/usage-days.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { unlessWrongType } from '../redis/redis-errors.ts';
import { isCustomerId, redisKeys, type CustomerId } from '../redis/redis-keys.ts';
import type { Deliveries } from './deliveries.ts';
import { foundEvent, type FoundEvent } from './event-types.ts';
import { wantsType, type Webhook } from './webhook-record.ts';

/** What gateways have counted during a short outage is in the record by then. */
const dayIsOverMs = 3_600_000;
/** Sent at once. */
const pageSize = 8;

/** Field of how far a webhook has the use by day, in the state of events: a date as YYYYMMDD, and its last customer. */
export const feedField = (webhookId: string) => `feed:${webhookId}`;

/** @returns the day that the webhook gets next, and the last customer whose use on it was sent */
export function feedPosition({ createdAt }: Webhook, stored: string | null): { date: string; last: string } {
  const [, date, last = ''] = /^(\d{8}) (\S*)$/.exec(stored ?? '') ?? [];
  return { date: date ?? utcDate(dayNumberOf(Date.parse(createdAt))), last };
}

interface UsageFeedDependencies {
  redis: RedisClient;
  deliveries: Pick<Deliveries, 'sendNow' | 'isActive'>;
  now: () => number;
}

/**
 * Sends the use of each customer on each day that is over to a webhook, day by day from the one on which it was made, and goes on
 * where it was, however long the webhook was down. A page that fails is sent again, under the same ids.
 * @returns whether the webhook has all of it
 */
export async function feedUsage(
  { redis, deliveries, now }: UsageFeedDependencies,
  webhook: Webhook,
): Promise<boolean> {
  if (!wantsType(webhook, 'usage.day')) return true;
  const field = feedField(webhook.id);
  for (;;) {
    const stored = await redis.hget(redisKeys.eventState, field);
    const { date, last } = feedPosition(webhook, stored);
    if (dayStartMs(date) + dayMs + dayIsOverMs > now() || !deliveries.isActive(webhook)) return true;
    const customers = await customersAfter(redis, last);
    const found = await Promise.all(customers.map((id) => useOf(redis, id, date)));
    const sent = await Promise.all(
      found.map(async (event) => event === undefined || deliveries.sendNow(webhook, event)),
    );
    if (!sent.every(Boolean)) return false;
    // A replay may have moved it while the page was sent.
    if ((await redis.hget(redisKeys.eventState, field)) !== stored) continue;
    const sentUpTo = customers.at(-1) ?? '';
    const next = sentUpTo === '' ? utcDate(dayNumberOf(dayStartMs(date)) + 1) : date;
    await redis.hset(redisKeys.eventState, field, `${next} ${sentUpTo}`);
  }
}

function dayStartMs(date: string): number {
  return Date.parse(`${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}`);
}

/** By time of creation. From the first one on if the last one was removed. */
async function customersAfter(redis: RedisClient, last: string): Promise<string[]> {
  const rank = last === '' ? null : await redis.zrank(redisKeys.customers, last);
  const start = rank === null ? 0 : rank + 1;
  return redis.zrange(redisKeys.customers, String(start), String(start + pageSize - 1));
}

async function useOf(redis: RedisClient, id: string, date: string): Promise<FoundEvent | undefined> {
  if (!isCustomerId(id)) return undefined;
  const day = dayNumberOf(dayStartMs(date));
  // What was edited by hand into another type of value must not end the feed.
  const [use] = await unlessWrongType(readUsageDays(redis, id, { first: day, last: day, oldest: 0 }), []);
  if (use === undefined || use.plan === null) return undefined;
  const name = await unlessWrongType(redis.hget(redisKeys.customer(id), 'name'), null);
  return useEvent(id, name ?? '', date, use);
}

function useEvent(customerId: CustomerId, name: string, date: string, use: UseOfDay): FoundEvent {
  return foundEvent({
    type: 'usage.day',
    customerId,
    atMs: dayStartMs(date) + dayMs,
    data: { customerId, name, ...use },
    identity: [date],
    period: date,
  });
}

type UseOfDay = Awaited<ReturnType<typeof readUsageDays>>[number];
