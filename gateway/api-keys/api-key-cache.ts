import { LRUCache } from 'lru-cache';
import { limitsIn } from '../limits/limits.ts';
import type { InvalidValues, ValueSource } from '../observability/invalid-values.ts';
import type { Plans } from '../plans/plans.ts';
import type { HashReader } from '../redis/hash-reader.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { RedisUnavailable, type RedisGate } from '../redis/redis-gate.ts';
import { isCustomerId, quotaKeys, redisKeys, type KeyPlace, type QuotaKeys } from '../redis/redis-keys.ts';
import type { SetUpMarker } from '../redis/set-up-marker.ts';
import { apiKeyState, type ApiKeyRecord } from './api-key-record.ts';
import { createNewestRecords, describeLostChange } from './newest-records.ts';
import { readApiKey, type ReadApiKey } from './read-api-key.ts';

/** Matches every rev: consume.lua and read-usage-4.lua then do not compare it. */
export const anyRev = -1;

/** The caller of a request: the record of a valid API key, and the Redis keys that belong to it. */
export interface Caller extends ApiKeyRecord {
  /** Hexadecimal SHA-256 of the API key. */
  keyHash: string;
  /** Made once, when the record is read: five strings for each request are measurable. */
  quotaKeys: QuotaKeys;
}

export function createCaller(record: ApiKeyRecord, keyHash: string): Caller {
  return { ...record, keyHash, quotaKeys: quotaKeys({ customerId: record.customerId, keyHash }) };
}

/** A key that was revoked or has expired, or whose customer is suspended. */
export type EndedKey = Pick<Caller, 'id' | keyof KeyPlace>;

export type ApiKeyLookup =
  | { outcome: 'valid'; caller: Caller }
  | { outcome: 'unknown' }
  | { outcome: 'expired' | 'revoked' | 'suspended'; key: EndedKey }
  /** Redis is unavailable or holds an invalid record, and nothing recent is cached; or it came back empty. */
  | { outcome: 'unavailable' };

export interface ApiKeyCache {
  /** The cached caller, if it is fresh enough that a comparison of its `rev` suffices. */
  getCached(keyHash: string): Caller | undefined;
  /** The key's record as it is in Redis now, or the cached one while Redis is unavailable. */
  find(keyHash: string): Promise<ApiKeyLookup>;
  /** The key's record as it is in Redis now. */
  reread(keyHash: string): Promise<ApiKeyLookup>;
}

interface ApiKeyCacheDependencies {
  redis: RedisClient;
  hashes: Pick<HashReader, 'readTogether'>;
  gate: RedisGate;
  invalidValues: InvalidValues;
  /** The plan of each record that is read is loaded before its limits are needed. */
  plans: Pick<Plans, 'ensureLoaded' | 'limitsOf'>;
  setUpMarker: SetUpMarker;
  now: () => number;
}

const maxCachedKeys = 100_000;
/** A cached record is only a hint that its rev confirms. An older one is not even tried. */
const freshMs = 10_000;
/** Maximum age of a cached record that serves while Redis is unavailable. */
const outageMs = 15 * 60_000;

interface CacheEntry {
  caller: Caller;
  readAtMs: number;
}

interface FoundKey {
  place: KeyPlace;
  read: ReadApiKey;
}

export function createApiKeyCache(dependencies: ApiKeyCacheDependencies): ApiKeyCache {
  const { redis, hashes, gate, invalidValues, plans, setUpMarker, now } = dependencies;
  const cache = new LRUCache<string, CacheEntry>({ max: maxCachedKeys });
  const newestRecords = createNewestRecords<Caller>();
  const reading = new Map<string, Promise<ApiKeyLookup>>();

  /** @returns undefined for an unknown key */
  async function findKey(keyHash: string): Promise<FoundKey | undefined> {
    const known = cache.get(keyHash)?.caller.customerId;
    if (known !== undefined) {
      const found = await readAt({ customerId: known, keyHash });
      if (found.read.outcome !== 'absent') return found;
      // It may have been issued again for another customer. Without an answer, it is absent.
      const place = await findPlace(keyHash).catch(() => undefined);
      if (place === undefined || place.customerId === known) return found;
      cache.delete(keyHash);
      return readAt(place);
    }
    const place = await findPlace(keyHash);
    return place && readAt(place);
  }

  function findPlace(keyHash: string): Promise<KeyPlace | undefined> {
    const pointer = redisKeys.keyCustomer(keyHash);
    return reportingErrors(pointer, keyHash, async () => {
      const customerId = await gate.send(() => redis.get(pointer));
      if (customerId !== null && !isCustomerId(customerId)) throw new Error('is no id of a customer');
      invalidValues.report(pointer, []);
      return customerId === null ? undefined : { customerId, keyHash };
    });
  }

  function readAt(place: KeyPlace): Promise<FoundKey> {
    return reportingErrors(redisKeys.apiKey(place), place.keyHash, async () => ({
      place,
      read: await gate.send(() => readApiKey(hashes, place)),
    }));
  }

  async function reportingErrors<T>(key: string, keyHash: string, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof RedisUnavailable)) {
        invalidValues.report(key, [String(error)], { source: cache.has(keyHash) ? 'last_valid' : 'none' });
      }
      throw error;
    }
  }

  async function read(keyHash: string): Promise<ApiKeyLookup> {
    let found: FoundKey | undefined;
    // An import may bring the key and then the marker between the two looks.
    const wasEmptied = setUpMarker.isMissing();
    try {
      found = await findKey(keyHash);
    } catch {
      return findWithoutRedis(keyHash);
    }
    return found === undefined ? findAbsent(keyHash, wasEmptied) : take(found, wasEmptied);
  }

  function report(
    { customerId, keyHash }: KeyPlace,
    issues: readonly string[],
    ofCustomer: readonly string[],
    source: ValueSource = 'last_valid',
  ) {
    invalidValues.report(redisKeys.apiKey({ customerId, keyHash }), issues, { source });
    invalidValues.report(redisKeys.customer(customerId), ofCustomer, { source });
  }

  function take({ place, read }: FoundKey, wasEmptied: boolean): Promise<ApiKeyLookup> | ApiKeyLookup {
    const { keyHash } = place;
    switch (read.outcome) {
      case 'absent':
        report(place, [], []);
        return findAbsent(keyHash, wasEmptied);
      case 'invalid': {
        const lookup = read.revoked
          ? revokeLast({ ...place, id: read.id }, read.revokedAt)
          : keepLastValid(place, read);
        const source = lookup.outcome === 'unavailable' ? 'none' : 'last_valid';
        report(place, read.issues, read.customerIssues, source);
        return lookup;
      }
      case 'record': {
        const caller = createCaller(read.record, keyHash);
        const newest = newestRecords.newest(keyHash, caller);
        report(place, newest === caller ? [] : [describeLostChange(newest, caller)], []);
        // The scripts compare the rev with the one in Redis.
        return store(newest === caller ? caller : { ...newest, rev: caller.rev });
      }
    }
  }

  /** @param wasEmptied whether the marker was missing before the key was looked for */
  async function findAbsent(keyHash: string, wasEmptied: boolean): Promise<ApiKeyLookup> {
    try {
      // Of a key that was there, the loss may be newer than the last look.
      if (cache.has(keyHash)) await gate.send(setUpMarker.refresh);
    } catch {
      return { outcome: 'unavailable' };
    }
    if (wasEmptied || setUpMarker.isMissing()) return { outcome: 'unavailable' };
    cache.delete(keyHash);
    return { outcome: 'unknown' };
  }

  /** Stores the caller when its plan is loaded, since requests that find it in the cache do not wait for that. */
  async function store(read: Caller): Promise<ApiKeyLookup> {
    // An outage at this moment shows when the limits are needed.
    await gate.send(() => plans.ensureLoaded(read.plan)).catch(() => {});
    const isLimited = plans.limitsOf(read) !== undefined;
    const caller = isLimited ? read : withLastLimits(read);
    cache.set(caller.keyHash, { caller, readAtMs: isLimited ? now() : tooOld() });
    return lookupOf(caller);
  }

  /** A known key stays on its last limits if it was put on a plan that can't be read, such as just before an outage. */
  function withLastLimits(read: Caller): Caller {
    const last = cache.get(read.keyHash)?.caller;
    return last === undefined ? read : { ...read, plan: last.plan, ...limitsIn(last) };
  }

  /** Age of a record whose rev could not confirm it: it is read again for each request. */
  const tooOld = () => now() - freshMs - 1;

  function lookupOf(caller: Caller): ApiKeyLookup {
    const state = apiKeyState(caller, now());
    const { id, customerId, keyHash } = caller;
    return state === 'valid'
      ? { outcome: 'valid', caller }
      : { outcome: state, key: { id, customerId, keyHash } };
  }

  /** The last valid record, which serves during an outage, is revoked by an invalid one. */
  function revokeLast(key: EndedKey, revokedAt: string | undefined): ApiKeyLookup {
    const last = cache.get(key.keyHash);
    if (last !== undefined) last.caller = newestRecords.newest(key.keyHash, { ...last.caller, revokedAt });
    return { outcome: 'revoked', key };
  }

  /** A record that was edited into an invalid one does not lock its owner out: the last valid one stays in use. */
  function keepLastValid(place: KeyPlace, { rev, id, suspendedAt, hasCustomer }: ReadApiKey): ApiKeyLookup {
    const last = cache.get(place.keyHash);
    if (last === undefined) {
      return suspendedAt === undefined
        ? { outcome: 'unavailable' }
        : { outcome: 'suspended', key: { ...place, id } };
    }
    const comparable = /^\d{1,15}$/.test(rev ?? '0');
    // Whatever else is invalid, a suspension is believed, and its end, unless Redis has lost the customer.
    const state = hasCustomer ? { suspendedAt } : {};
    last.caller = { ...last.caller, ...state, rev: comparable ? Number(rev ?? '0') : anyRev };
    // Without a comparable rev, a revocation would go unnoticed.
    last.readAtMs = comparable ? now() : tooOld();
    return lookupOf(last.caller);
  }

  function findWithoutRedis(keyHash: string): ApiKeyLookup {
    const last = cache.get(keyHash);
    if (last === undefined || now() - last.readAtMs > outageMs) return { outcome: 'unavailable' };
    return lookupOf(last.caller);
  }

  /** All requests that wait for one key's record share one read. */
  function reread(keyHash: string): Promise<ApiKeyLookup> {
    let pending = reading.get(keyHash);
    if (pending === undefined) {
      pending = read(keyHash).finally(() => reading.delete(keyHash));
      reading.set(keyHash, pending);
    }
    return pending;
  }

  return {
    getCached(keyHash) {
      if (!gate.open) return undefined;
      const last = cache.get(keyHash);
      if (last === undefined || now() - last.readAtMs > freshMs) return undefined;
      // A rev confirms only a valid key: an expired one may have been given more time.
      return apiKeyState(last.caller, now()) === 'valid' ? last.caller : undefined;
    },
    async find(keyHash) {
      return gate.open ? reread(keyHash) : findWithoutRedis(keyHash);
    },
    reread,
  };
}
