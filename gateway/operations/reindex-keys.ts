import type { RedisClient } from '../redis/redis-client.ts';
import {
  customerIdIn,
  formatPlace,
  parsePlace,
  redisKeys,
  type CustomerId,
  type KeyPlace,
} from '../redis/redis-keys.ts';
import {
  addCustomerToIndex,
  addToIndex,
  customerPages,
  indexPages,
  isListed,
  isSettled,
  placeOf,
  removeFromIndex,
} from './api-key-index.ts';
import { scanRecords, type ScannedRecord } from './scan-records.ts';
import { scanRedisKeys } from './scan-redis-keys.ts';
import type { Session } from './session.ts';
import { readStoredKey } from './stored-keys.ts';

export interface ReindexResult {
  /** Number of keys that were missing in gw:key-ids, in gw:keys or in both. */
  added: number;
  /** Number of customers that were missing in gw:customers. */
  customers: number;
  /** Number of ids of keys and customers without a record. */
  removed: number;
  /** Redis keys of records without an id, or with the id of another one: the index can't contain them. */
  unusable: string[];
}

const batchSize = 500;

/**
 * Makes gw:key-ids and gw:keys agree with the records, which alone decide on requests. Scans all of Redis. Writes nothing
 * if nothing is wrong.
 */
export async function reindexKeys(session: Session): Promise<ReindexResult> {
  const { redis, audit } = session;
  /** Ids whose records were found where the index says. */
  const indexed = new Set<string>();
  const missing = new Map<string, ScannedRecord>();
  const unusable = new Set<string>();
  const gone = new Set<string>();

  for await (const page of scanRecords(redis)) {
    const states = await Promise.all(page.map(stateOf));
    for (const [position, key] of page.entries()) {
      const state = states[position];
      const other = missing.get(key.id);
      if (state === 'indexed') indexed.add(key.id);
      else if (state === 'unusable' || (other !== undefined && !isSame(other.place, key.place))) {
        unusable.add(redisKeys.apiKey(key.place));
      } else missing.set(key.id, key);
    }
  }
  for await (const page of indexPages(session, undefined, batchSize)) {
    const unknown = page.filter(({ id, settled }) => settled && !indexed.has(id));
    await Promise.all(unknown.map(({ id, place }) => checkId(id, place)));
  }
  for await (const page of scanHashedIds(redis)) {
    const unknown = page.filter(([id]) => !indexed.has(id));
    await Promise.all(
      unknown.map(async ([id, place]) => (await isListed(redis, id)) || checkUnlisted(id, place)),
    );
  }

  const customers = await findUnlistedCustomers(redis);
  const goneCustomers = await findGoneCustomers(session);
  const counts = {
    added: missing.size,
    customers: customers.length,
    removed: gone.size + goneCustomers.length,
  };
  const result = { ...counts, unusable: [...unusable] };
  if (result.added + result.customers + result.removed === 0) return result;
  await audit({ action: 'keys.reindex', target: redisKeys.apiKeysByCreation, before: null, after: counts });
  for (const batch of batches(customers)) {
    await Promise.all(batch.map((customer) => addCustomerToIndex(session, customer)));
  }
  for (const batch of batches(goneCustomers)) await redis.zrem(redisKeys.customers, ...batch);
  for (const batch of batches([...missing.values()])) {
    await Promise.all(
      batch.flatMap(({ place, ...record }) => [
        addToIndex(session, record, place),
        redis.sadd(redisKeys.customerKeys(place.customerId), record.id),
      ]),
    );
  }
  for (const batch of batches([...gone])) await removeFromIndex(session, await stillGone(batch));
  return result;

  async function stateOf({ id, place }: ScannedRecord): Promise<'indexed' | 'missing' | 'unusable'> {
    if (id === '') return 'unusable';
    const [known, listed, customerId, isMember] = await Promise.all([
      placeOf(redis, id),
      isListed(redis, id),
      redis.get(redisKeys.keyCustomer(place.keyHash)),
      redis.sismember(redisKeys.customerKeys(place.customerId), id),
    ]);
    const isFound = listed && customerId === place.customerId && isMember === 1;
    if (known !== undefined && isSame(known, place)) return isFound ? 'indexed' : 'missing';
    // If two records have one id, the one in the index keeps it.
    return known !== undefined && !(await isGone(id, known)) ? 'unusable' : 'missing';
  }

  async function checkId(id: string, place: KeyPlace | undefined): Promise<void> {
    if (missing.has(id)) return;
    if (place === undefined || (await isGone(id, place))) gone.add(id);
  }

  /** An invalid record may lack its id, and must be listed to be revoked. */
  async function checkUnlisted(id: string, place: KeyPlace | undefined): Promise<void> {
    await checkId(id, place);
    if (place !== undefined && !missing.has(id) && !gone.has(id)) {
      missing.set(id, { id, place, createdAt: '' });
    }
  }

  async function isGone(id: string, place: KeyPlace): Promise<boolean> {
    const key = (await readStoredKey(redis, id, place))?.key;
    return key === undefined || (key.outcome === 'record' && key.record.id !== id);
  }

  /** Checks once more, since a key may have been imported since. */
  async function stillGone(ids: readonly string[]): Promise<string[]> {
    const results = await Promise.all(
      ids.map(async (id) => {
        const place = await placeOf(redis, id);
        return place === undefined || isGone(id, place);
      }),
    );
    return ids.filter((_id, position) => results[position]);
  }
}

async function findUnlistedCustomers(redis: RedisClient): Promise<{ id: CustomerId; createdAt: string }[]> {
  const found: { id: CustomerId; createdAt: string }[] = [];
  for await (const keys of scanRedisKeys(redis, redisKeys.customer('cus_*'))) {
    const unlisted = await Promise.all(
      keys.map(async (key) => {
        const id = customerIdIn(key);
        if (id === undefined || (await redis.zscore(redisKeys.customers, id)) !== null) return [];
        const createdAt = await redis.hget(key, 'createdAt').catch(() => null);
        return [{ id, createdAt: createdAt ?? '' }];
      }),
    );
    found.push(...unlisted.flat());
  }
  return found;
}

/** Ids without a record, as an interrupted removal leaves them, except those of customers that are being made. */
async function findGoneCustomers({ redis, now }: Session): Promise<CustomerId[]> {
  const gone: CustomerId[] = [];
  for await (const ids of customerPages(redis, batchSize)) {
    const records = await Promise.all(ids.map((id) => redis.exists(redisKeys.customer(id))));
    for (const id of ids.filter((_id, position) => records[position] === 0)) {
      const createdAtMs = await redis.zscore(redisKeys.customers, id);
      if (createdAtMs !== null && isSettled(Number(createdAtMs), now)) gone.push(id);
    }
  }
  return gone;
}

async function* scanHashedIds(
  redis: RedisClient,
): AsyncGenerator<[id: string, place: KeyPlace | undefined][]> {
  let cursor = '0';
  do {
    const [next, flat] = await redis.hscan(redisKeys.apiKeyIds, cursor, 'COUNT', batchSize);
    yield Array.from({ length: flat.length / 2 }, (_, position) => [
      flat[2 * position] ?? '',
      parsePlace(flat[2 * position + 1] ?? ''),
    ]);
    cursor = next;
  } while (cursor !== '0');
}

const isSame = (one: KeyPlace, other: KeyPlace) => formatPlace(one) === formatPlace(other);

function* batches<T>(items: readonly T[]): Generator<T[]> {
  for (let start = 0; start < items.length; start += batchSize) yield items.slice(start, start + batchSize);
}
