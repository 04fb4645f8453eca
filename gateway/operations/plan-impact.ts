import { z } from 'zod';
import { anyRev } from '../api-keys/api-key-cache.ts';
import { apiKeyState } from '../api-keys/api-key-record.ts';
import { limitsIn, maxLimit, parseLimit, type Limits, type SomeLimits } from '../limits/limits.ts';
import { limitedAt, parseTemporary, temporaryFields } from '../limits/temporary-limits.ts';
import { countFields } from '../limits/window-fields.ts';
import {
  byWindow,
  fieldOf,
  forRequired,
  windowNames,
  type ByWindow,
  type WindowName,
} from '../limits/windows.ts';
import { readUsage } from '../quota/usage.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { unlessWrongType } from '../redis/redis-errors.ts';
import { isCustomerId, redisKeys, type CustomerId, type KeyPlace } from '../redis/redis-keys.ts';
import { indexPages } from './api-key-index.ts';
import { ignoreInvalid } from './invalid-operation.ts';
import type { ReadingSession, Session } from './session.ts';
import { findStoredKey } from './stored-keys.ts';

/** Keys of a plan, and the effect that other limits of it would have now. */
export const planImpactSchema = z.object({
  keys: z.int().describe('Valid keys on the plan'),
  ...countFields('over', 'Keys that have used up this limit'),
  over: z
    .int()
    .describe('Keys that have used up a limit at least, so that their next request would be refused'),
});

export type PlanImpact = z.infer<typeof planImpactSchema>;

export const noImpact: Readonly<PlanImpact> = { keys: 0, overMinute: 0, overDay: 0, over: 0 };

/** A customer whose next request would be refused. */
export const hitKeySchema = z
  .object({
    id: z.string(),
    name: z.string().describe('Empty if the record is invalid'),
    plan: z.string(),
    window: z.enum(windowNames).describe('The window that is used most, by share of its limit'),
    used: z.int(),
    limit: z.int(),
  })
  .meta({ id: 'HitKey' });

export type HitKey = z.infer<typeof hitKeySchema>;

/** Customers that an effect names at most. */
export const maxNamed = 10;

/** A customer with valid keys, as far as it matters here. */
export interface PlanCustomer {
  /** One of its valid keys. */
  place: KeyPlace;
  plan: string;
  /** Limits of its own, which do not change with the plan. */
  own: SomeLimits;
  /** Valid keys that were read. */
  keys: number;
}

/** How a count of all keys proceeds, for callers that do it in the background. */
export interface CountOptions {
  pageSize?: number | undefined;
  /** Called after each page with the number of keys read so far; the next page waits for it. */
  onPage?: ((read: number) => Promise<void>) | undefined;
}

const defaultPageSize = 500;

/** readUsage needs limits and the lengths of bans, which do not matter here. All windows are read. */
const anyLimits: Limits = Object.assign(
  forRequired(maxLimit),
  byWindow(() => maxLimit),
);
const anyBanPolicy = { windowSeconds: 1, maxBanSeconds: 1 };

/**
 * Counts the valid keys of all plans in one pass over the index, page by page. A record that was edited into something
 * invalid counts as well, if it names a plan. Changes nothing.
 * @param limits new limits by plan; the usage of keys on other plans is not read
 * @returns plans with at least one key
 */
export async function planImpacts(
  { redis, now }: ReadingSession,
  limits: ReadonlyMap<string, Limits> = new Map(),
  options: CountOptions = {},
): Promise<ReadonlyMap<string, Readonly<PlanImpact>>> {
  const impacts = new Map<string, PlanImpact>();
  for await (const customers of planCustomerPages({ redis, now }, options)) {
    const overs = await Promise.all(
      customers.map((customer) => usedUp(redis, customer, limits.get(customer.plan))),
    );
    for (const [index, { plan, keys }] of customers.entries()) {
      const impact = impacts.get(plan) ?? { ...noImpact };
      addTo(impact, overs[index] ?? [], keys);
      impacts.set(plan, impact);
    }
  }
  return impacts;
}

/** Something that is read of each customer on a plan once, and that grows page by page. */
export interface PlanReading<T> {
  soFar: T;
  read: (customer: PlanCustomer) => Promise<void>;
}

/** Reads of all customers on a plan, in one pass over the index. */
export async function readPlan(
  session: ReadingSession,
  plan: string,
  readings: readonly PlanReading<unknown>[],
  options: CountOptions = {},
): Promise<void> {
  for await (const page of planCustomerPages(session, options)) {
    const customers = page.filter((customer) => customer.plan === plan);
    await Promise.all(readings.flatMap(({ read }) => customers.map(read)));
  }
}

/** Use of the customers on a plan, from which the effect of any limits of it is computed. */
export type PlanUse = UseByCustomer<ByWindow<number>>;

/** Use of customers with the number of their valid keys; undefined in a window for which a customer has a limit of its own. */
export type UseByCustomer<Used> = Map<CustomerId, { keys: number; used: Used }>;

/** Requests in the open windows. */
export function planUse({ redis }: Pick<Session, 'redis'>): PlanReading<PlanUse> {
  const soFar: PlanUse = new Map();
  return { soFar, read: readOnce(soFar, (customer) => readUsed(redis, customer)) };
}

/**
 * Reads the use of each customer once: the keys of one usually follow each other, but may be on several pages.
 * @param readUse returns undefined for a customer that is left out
 */
export function readOnce<Used>(
  customers: UseByCustomer<Used>,
  readUse: (customer: PlanCustomer) => Promise<Used | undefined>,
): PlanReading<unknown>['read'] {
  return async (customer) => {
    const { place, keys } = customer;
    const known = customers.get(place.customerId);
    if (known !== undefined) {
      known.keys += keys;
      return;
    }
    const used = await readUse(customer);
    if (used !== undefined) customers.set(place.customerId, { keys, used });
  };
}

/** The effect that limits of the plan would have on that use. Pure. */
export function impactOn(use: PlanUse, limits: Limits): PlanImpact {
  const impact = { ...noImpact };
  for (const { used, keys } of use.values()) addTo(impact, overLimits(used, limits), keys);
  return impact;
}

/** The customers that these limits would hit hardest, by their share of a limit. */
export async function findHitKeys(
  session: Pick<Session, 'redis'>,
  plan: string,
  use: PlanUse,
  limits: Limits,
): Promise<HitKey[]> {
  const hits = Array.from(use).flatMap(([id, { used }]) => {
    const [most] = overLimits(used, limits)
      .map((window) => ({ id, plan, window, used: used[window] ?? 0, limit: limits[window] ?? 0 }))
      .toSorted(byShare);
    return most ?? [];
  });
  return nameKeys(session, hits.toSorted(byShare).slice(0, maxNamed));
}

const byShare = (one: Pick<HitKey, 'used' | 'limit'>, other: Pick<HitKey, 'used' | 'limit'>) =>
  other.used / other.limit - one.used / one.limit;

/** Adds names to ids of customers and keys. */
export async function nameKeys<Key extends { id: string }>(
  { redis }: Pick<Session, 'redis'>,
  keys: readonly Key[],
): Promise<(Key & { name: string })[]> {
  return Promise.all(
    keys.map(async (key) => {
      if (isCustomerId(key.id)) {
        const name = await redis.hget(redisKeys.customer(key.id), 'name').catch(() => null);
        return { ...key, name: name ?? '' };
      }
      const found = await ignoreInvalid(findStoredKey(redis, key.id));
      return { ...key, name: found?.key.outcome === 'record' ? found.key.record.name : '' };
    }),
  );
}

/** Customers with valid keys, by pages of keys: a customer is on each page that has a key of it. */
async function* planCustomerPages(
  { redis, now }: ReadingSession,
  { pageSize = defaultPageSize, onPage }: CountOptions,
): AsyncGenerator<PlanCustomer[]> {
  let read = 0;
  for await (const page of indexPages({ redis, now }, undefined, pageSize)) {
    const places = page.flatMap(({ place }) => place ?? []);
    const customers = await Promise.all(
      Array.from(
        Map.groupBy(places, ({ customerId }) => customerId),
        ([id, ofCustomer]) => readPlanCustomer(redis, id, ofCustomer, now()),
      ),
    );
    yield customers.filter((customer) => customer !== undefined);
    read += page.length;
    await onPage?.(read);
  }
}

type Fields = Record<string, string | undefined>;

async function readFields(redis: RedisClient, key: string, fields: string[]): Promise<Fields> {
  const values = await unlessWrongType(redis.hmget(key, ...fields), []);
  return Object.fromEntries(fields.map((field, index) => [field, values[index] ?? undefined]));
}

/** @returns undefined if none of the keys is valid, or the record is gone */
async function readPlanCustomer(
  redis: RedisClient,
  id: CustomerId,
  places: readonly KeyPlace[],
  nowMs: number,
): Promise<PlanCustomer | undefined> {
  const readKey = (place: KeyPlace) =>
    readFields(redis, redisKeys.apiKey(place), ['id', 'revokedAt', 'expiresAt']);
  const [texts, keys] = await Promise.all([
    readFields(redis, redisKeys.customer(id), ['plan', 'suspendedAt', ...windowNames, ...temporaryFields]),
    Promise.all(places.map(readKey)),
  ]);
  const { plan, suspendedAt } = texts;
  const valid = places.filter((_place, index) => {
    const key = keys[index];
    // The keys of a suspended customer work again when it is resumed.
    return (
      key?.['id'] !== undefined &&
      ['valid', 'suspended'].includes(apiKeyState({ ...key, suspendedAt }, nowMs))
    );
  });
  const [place] = valid;
  if (plan === undefined || place === undefined) return undefined;
  const own = { ...byWindow((name) => parseLimit(texts[name])), ...parseTemporary(texts) };
  return { place, plan, own: limitsIn(limitedAt(own, nowMs)), keys: valid.length };
}

/** Which of the plan's limits the customer has used up. */
async function usedUp(
  redis: RedisClient,
  customer: PlanCustomer,
  limits: Limits | undefined,
): Promise<WindowName[]> {
  return limits === undefined ? [] : overLimits(await readUsed(redis, customer), limits);
}

async function readUsed(redis: RedisClient, { place, own }: PlanCustomer): Promise<ByWindow<number>> {
  if (windowNames.every((name) => own[name] !== undefined)) return {};
  const usage = await readUsage(redis, {
    place,
    rev: anyRev,
    limits: anyLimits,
    banPolicy: anyBanPolicy,
  });
  return byWindow((name) => (own[name] === undefined ? usage?.windows[name]?.used : undefined));
}

/** @returns the windows in which the use is at the limit */
function overLimits(used: ByWindow<number>, limits: Limits): WindowName[] {
  return windowNames.filter((name) => (used[name] ?? -1) >= (limits[name] ?? Infinity));
}

function addTo(impact: PlanImpact, over: readonly WindowName[], keys: number): void {
  impact.keys += keys;
  for (const name of over) {
    const field = fieldOf('over', name);
    impact[field] = (impact[field] ?? 0) + keys;
  }
  if (over.length > 0) impact.over += keys;
}
