import { anyRev } from '../api-keys/api-key-cache.ts';
import { parseCustomerRecord } from '../api-keys/customer-record.ts';
import { thresholdWindows } from '../limits/thresholds.ts';
import { dayMs, dayNumberOf, utcDate } from '../limits/utc-day.ts';
import type { Plans } from '../plans/plans.ts';
import { readUsage } from '../quota/usage.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { isCustomerId, parsePlace, redisKeys, type CustomerId } from '../redis/redis-keys.ts';
import { issuedFromFile } from './audit-events.ts';
import { foundEvent, type FoundEvent } from './event-types.ts';
import type { PlanThresholds } from './plan-thresholds.ts';
import { thresholdEvents } from './use-events.ts';

/** Customers whose use is looked at each minute while events may have been lost. */
export const maxCustomers = 10_000;
/** A calm sweep of all customers takes an hour: with 10,000 a minute it costs some percent of a core. */
const calmMinutes = 60;
const minCustomers = 1000;
const pageSize = 100;
const expiringMs = 7 * dayMs;
/** Age of a key whose creation is an event: less than ids of events are kept. */
const newMs = dayMs;

interface SweepDependencies {
  redis: RedisClient;
  plans: Pick<Plans, 'ensureLoaded' | 'limitsOf'>;
  thresholds: Pick<PlanThresholds, 'of'>;
  now: () => number;
}

/**
 * Finds what no request has told: thresholds whose event was lost with a process, or that were crossed during an outage,
 * and keys that expire. To be called each minute. What was found before is found again, under the same id.
 * @param isFast whether events may have been lost
 */
export async function* sweep(dependencies: SweepDependencies, isFast: boolean): AsyncGenerator<FoundEvent[]> {
  const { redis } = dependencies;
  const total = await redis.zcard(redisKeys.customers);
  const calm = Math.max(minCustomers, Math.ceil(total / calmMinutes));
  for (const [task, count, find] of [
    ['use', isFast ? Math.max(calm, maxCustomers) : calm, findInUse],
    ['keys', calm, findOfKeys],
  ] as const) {
    const customers = await takeCustomers(redis, `sweep-${task}`, count);
    for (let start = 0; start < customers.length; start += pageSize) {
      const page = customers.slice(start, start + pageSize);
      yield (await Promise.all(page.map((id) => find(dependencies, id).catch(ignoreInvalidValues)))).flat();
    }
  }
}

/** What was edited by hand into another type of value is reported by those who use it. */
function ignoreInvalidValues(error: unknown): FoundEvent[] {
  if (isWrongType(error)) return [];
  throw error;
}

/** The next customers by time of creation, from the first one on after the last. */
async function takeCustomers(redis: RedisClient, cursor: string, count: number): Promise<CustomerId[]> {
  const text = (await redis.hget(redisKeys.eventState, cursor)) ?? '';
  const start = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  const ids = await redis.zrange(redisKeys.customers, String(start), String(start + count - 1));
  await redis.hset(redisKeys.eventState, cursor, ids.length < count ? 0 : start + count);
  return ids.filter(isCustomerId);
}

async function findInUse(dependencies: SweepDependencies, id: CustomerId): Promise<FoundEvent[]> {
  const { redis, plans, thresholds } = dependencies;
  const parsed = parseCustomerRecord(id, await redis.hgetall(redisKeys.customer(id)));
  if (parsed.outcome !== 'record') return [];
  const { record } = parsed;
  await plans.ensureLoaded(record.plan);
  const limits = plans.limitsOf(record);
  if (limits === undefined) return [];
  const usage = await readUsage(redis, {
    place: { customerId: id, keyHash: '' },
    rev: anyRev,
    limits,
    banPolicy: { windowSeconds: 1, maxBanSeconds: 1 },
  });
  return thresholdWindows.flatMap((window) => {
    const use = usage?.windows[window];
    if (usage === undefined || use === undefined) return [];
    const { nowMs } = usage;
    return thresholdEvents({ ...record, customerId: id }, thresholds.of(record), {
      window,
      use,
      units: Infinity,
      nowMs,
    });
  });
}

/** Keys that expire, and new ones of a file. */
async function findOfKeys({ redis, now }: SweepDependencies, customerId: CustomerId): Promise<FoundEvent[]> {
  const ids = await redis.smembers(redisKeys.customerKeys(customerId));
  if (ids.length === 0) return [];
  const places = await redis.hmget(redisKeys.apiKeyIds, ...ids);
  const found = await Promise.all(
    ids.map(async (keyId, index): Promise<FoundEvent[]> => {
      const place = parsePlace(places[index] ?? '');
      if (place === undefined) return [];
      const [expiresAt, ended, replaced, name, createdAt, batch] = await redis.hmget(
        redisKeys.apiKey(place),
        'expiresAt',
        'revokedAt',
        'replacedBy',
        'name',
        'createdAt',
        'batch',
      );
      const atMs = now();
      const record = { id: keyId, customerId, name: name ?? '', expiresAt, createdAt: createdAt ?? '' };
      const isNew = batch && Math.abs(atMs - Date.parse(record.createdAt)) < newMs;
      const created = isNew ? [issuedFromFile(record)] : [];
      const leftMs = Date.parse(expiresAt ?? '') - atMs;
      if (!expiresAt || ended || replaced || !(leftMs > 0 && leftMs <= expiringMs)) return created;
      const data = { customerId, keyId, keyName: record.name, expiresAt };
      const period = utcDate(dayNumberOf(atMs + leftMs));
      return created.concat(
        foundEvent({ type: 'key.expiring', customerId, atMs, data, identity: [keyId, expiresAt], period }),
      );
    }),
  );
  return found.flat();
}
