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

/** A valid key, as far as it matters here. */
export interface PlanKey {
  place: KeyPlace;
  plan: string;
  /** Limits of its own, which do not change with the plan. */
  own: SomeLimits;
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
  for await (const keys of planKeyPages({ redis, now }, options)) {
    const usedBy = createUseReader(redis);
    const overs = await Promise.all(keys.map((key) => usedUp(usedBy, key, limits.get(key.plan))));
    for (const [index, { plan }] of keys.entries()) {
      const impact = impacts.get(plan) ?? { ...noImpact };
      addTo(impact, overs[index] ?? []);
      impacts.set(plan, impact);
    }
  }
  return impacts;
}

/** Use of the valid keys on a plan, from which the effect of any limits of it is computed. */
export interface PlanUse {
  keys: number;
  used: KeyUse[];
}

interface KeyUse {
  id: CustomerId;
  /** Requests in the open windows; undefined in a window for which the key has a limit of its own. */
  used: ByWindow<number>;
}

interface PlanUseOptions {
  pageSize?: number;
  /** As of CountOptions; with the use of the keys that were read so far. */
  onPage?: (read: number, soFar: PlanUse) => Promise<void>;
}

/** Reads the use of all keys on a plan, as planImpacts does. */
export async function readPlanUse(
  { redis, now }: ReadingSession,
  plan: string,
  { pageSize, onPage }: PlanUseOptions = {},
): Promise<PlanUse> {
  const use: PlanUse = { keys: 0, used: [] };
  for await (const page of planKeyPages(
    { redis, now },
    { pageSize, onPage: onPage && ((read) => onPage(read, use)) },
  )) {
    const keys = page.filter((key) => key.plan === plan);
    use.keys += keys.length;
    const usedBy = createUseReader(redis);
    const used = await Promise.all(
      keys.map(async (key) => ({ id: key.place.customerId, used: await usedBy(key) })),
    );
    use.used.push(...used);
  }
  return use;
}

/** The effect that limits of the plan would have on that use. Pure. */
export function impactOn({ keys, used }: PlanUse, limits: Limits): PlanImpact {
  const impact = { ...noImpact };
  for (const key of used) addTo(impact, overLimits(key.used, limits));
  return { ...impact, keys };
}

/** The customers that these limits would hit hardest, by their share of a limit. Each once, however many keys it has. */
export async function findHitKeys(
  session: Pick<Session, 'redis'>,
  plan: string,
  { used }: PlanUse,
  limits: Limits,
): Promise<HitKey[]> {
  const byCustomer = new Map(used.map((use) => [use.id, use]));
  const hits = Array.from(byCustomer.values()).flatMap(({ id, used }) => {
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

/** All valid keys, page by page. */
export async function* planKeyPages(
  { redis, now }: ReadingSession,
  { pageSize = defaultPageSize, onPage }: CountOptions,
): AsyncGenerator<PlanKey[]> {
  let read = 0;
  for await (const page of indexPages({ redis, now }, undefined, pageSize)) {
    const customers = new Map<CustomerId, Promise<Fields>>();
    const found = await Promise.all(
      page.flatMap(({ place }) => (place === undefined ? [] : [readPlanKey(redis, place, customers, now())])),
    );
    yield found.filter((key) => key !== undefined);
    read += page.length;
    await onPage?.(read);
  }
}

type Fields = Record<string, string | undefined>;

async function readFields(redis: RedisClient, key: string, fields: string[]): Promise<Fields> {
  const values = await unlessWrongType(redis.hmget(key, ...fields), []);
  return Object.fromEntries(fields.map((field, index) => [field, values[index] ?? undefined]));
}

/**
 * @param customers records that were read for other keys of the page: keys of a customer often follow each other
 * @returns undefined if it is not valid, or its record is gone
 */
async function readPlanKey(
  redis: RedisClient,
  place: KeyPlace,
  customers: Map<CustomerId, Promise<Fields>>,
  nowMs: number,
): Promise<PlanKey | undefined> {
  const readCustomer = (id: CustomerId) =>
    readFields(redis, redisKeys.customer(id), ['plan', 'suspendedAt', ...windowNames, ...temporaryFields]);
  const [texts, ofKey] = await Promise.all([
    customers.getOrInsertComputed(place.customerId, readCustomer),
    readFields(redis, redisKeys.apiKey(place), ['id', 'revokedAt', 'expiresAt']),
  ]);
  const { plan, suspendedAt } = texts;
  if (plan === undefined || ofKey['id'] === undefined) return undefined;
  // The keys of a suspended customer work again when it is resumed.
  if (!['valid', 'suspended'].includes(apiKeyState({ ...ofKey, suspendedAt }, nowMs))) return undefined;
  const own = { ...byWindow((name) => parseLimit(texts[name])), ...parseTemporary(texts) };
  return { place, plan, own: limitsIn(limitedAt(own, nowMs)) };
}

/** Which of the plan's limits the key has used up. */
async function usedUp(usedBy: UseReader, key: PlanKey, limits: Limits | undefined): Promise<WindowName[]> {
  return limits === undefined ? [] : overLimits(await usedBy(key), limits);
}

type UseReader = (key: PlanKey) => Promise<ByWindow<number>>;

/** Reads the use of a customer once, however many of its keys ask. */
function createUseReader(redis: RedisClient): UseReader {
  const known = new Map<CustomerId, Promise<ByWindow<number>>>();
  return (key) => known.getOrInsertComputed(key.place.customerId, () => readUsed(redis, key));
}

async function readUsed(redis: RedisClient, { place, own }: PlanKey): Promise<ByWindow<number>> {
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

function addTo(impact: PlanImpact, over: readonly WindowName[]): void {
  impact.keys += 1;
  for (const name of over) {
    const field = fieldOf('over', name);
    impact[field] = (impact[field] ?? 0) + 1;
  }
  if (over.length > 0) impact.over += 1;
}
