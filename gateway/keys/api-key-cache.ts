import { LRUCache } from 'lru-cache';
import { limitsIn } from '../limits/limits.ts';
import type { InvalidValues } from '../platform/observability/invalid-values.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { UnexpectedValue } from '../platform/redis/redis-errors.ts';
import { RedisUnavailable, type RedisGate } from '../platform/redis/redis-gate.ts';
import {
  isCustomerId,
  quotaKeys,
  redisKeys,
  type CustomerId,
  type KeyPlace,
  type QuotaKeys,
} from '../platform/redis/redis-keys.ts';
import type { SetUpMarker } from '../platform/redis/set-up-marker.ts';
import { apiKeyState, readApiKey, type ApiKeyRecord } from './records.ts';

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
  /** Redis is unavailable, and nothing recent is cached; or it came back empty. */
  | { outcome: 'unavailable' };

export type ApiKeyCache = ReturnType<typeof createApiKeyCache>;

interface ApiKeyCacheDependencies {
  redis: RedisClient;
  gate: RedisGate;
  invalidValues: InvalidValues;
  /** The plan of each record that is read is loaded before its limits are needed. */
  plans: {
    ensureLoaded(plan: string): Promise<void>;
    /** Undefined if not all of its limits are known. */
    limitsOf(key: ApiKeyRecord): object | undefined;
  };
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

export function createApiKeyCache(dependencies: ApiKeyCacheDependencies) {
  const { redis, gate, invalidValues, plans, setUpMarker, now } = dependencies;
  const cache = new LRUCache<string, CacheEntry>({ max: maxCachedKeys });
  const newestRecords = createNewestRecords<Caller>();
  const reading = new Map<string, Promise<ApiKeyLookup>>();

  /** @returns undefined for an unknown key */
  async function findKey(keyHash: string): Promise<ApiKeyRecord | undefined> {
    const known = cache.get(keyHash)?.caller.customerId;
    if (known !== undefined) {
      const record = await readAt({ customerId: known, keyHash });
      if (record !== undefined) return record;
      // It may have been issued again for another customer. Without an answer, it is absent.
      const place = await findPlace(keyHash).catch(() => undefined);
      if (place === undefined || place.customerId === known) return undefined;
      cache.delete(keyHash);
      return readAt(place);
    }
    const place = await findPlace(keyHash);
    return place && readAt(place);
  }

  async function findPlace(keyHash: string): Promise<KeyPlace | undefined> {
    const pointer = redisKeys.keyCustomer(keyHash);
    const customerId = await gate.send(() => redis.get(pointer));
    if (customerId === null) return undefined;
    if (isCustomerId(customerId)) return { customerId, keyHash };
    throw new UnexpectedValue(pointer, 'is no id of a customer: restore or delete it');
  }

  async function readAt(place: KeyPlace): Promise<ApiKeyRecord | undefined> {
    const stored = await gate.send(() => readApiKey(redis, place));
    return stored?.record;
  }

  async function read(keyHash: string): Promise<ApiKeyLookup> {
    let found: ApiKeyRecord | undefined;
    // An import may bring the key and then the marker between the two looks.
    const wasEmptied = setUpMarker.isMissing();
    try {
      found = await findKey(keyHash);
    } catch (error) {
      if (error instanceof RedisUnavailable) return findWithoutRedis(keyHash);
      throw error;
    }
    return found === undefined ? findAbsent(keyHash, wasEmptied) : take(createCaller(found, keyHash));
  }

  function take(caller: Caller): Promise<ApiKeyLookup> {
    const newest = newestRecords.newest(caller.keyHash, caller);
    const issues =
      newest === caller
        ? []
        : [
            `Redis has lost a change of ${newest.id}, as in a failover: its rev is ${caller.rev} and was ${newest.rev}; ` +
              'make the change again with the ops command, or restart the gateways to accept the loss',
          ];
    invalidValues.report(redisKeys.apiKey(caller), issues);
    // The scripts compare the rev with the one in Redis.
    return store(newest === caller ? caller : { ...newest, rev: caller.rev });
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
    // A rev could not confirm it without limits: then it is read again for each request.
    cache.set(caller.keyHash, { caller, readAtMs: isLimited ? now() : now() - freshMs - 1 });
    return lookupOf(caller);
  }

  /** A known key stays on its last limits if it was put on a plan that can't be read, such as just before an outage. */
  function withLastLimits(read: Caller): Caller {
    const last = cache.get(read.keyHash)?.caller;
    return last === undefined ? read : { ...read, plan: last.plan, ...limitsIn(last) };
  }

  function lookupOf(caller: Caller): ApiKeyLookup {
    const state = apiKeyState(caller, now());
    const { id, customerId, keyHash } = caller;
    return state === 'active'
      ? { outcome: 'valid', caller }
      : { outcome: state, key: { id, customerId, keyHash } };
  }

  function findWithoutRedis(keyHash: string): ApiKeyLookup {
    const last = cache.get(keyHash);
    if (last === undefined || now() - last.readAtMs > outageMs) return { outcome: 'unavailable' };
    return lookupOf(last.caller);
  }

  /** The key's record as it is in Redis now: requests that wait for it share one read. @throws UnexpectedValue as find does */
  function reread(keyHash: string): Promise<ApiKeyLookup> {
    let pending = reading.get(keyHash);
    if (pending === undefined) {
      pending = read(keyHash).finally(() => reading.delete(keyHash));
      reading.set(keyHash, pending);
    }
    return pending;
  }

  return {
    /** The cached caller, if it is fresh enough that a comparison of its `rev` suffices. */
    getCached(keyHash: string): Caller | undefined {
      if (!gate.open) return undefined;
      const last = cache.get(keyHash);
      const nowMs = now();
      if (last === undefined || nowMs - last.readAtMs > freshMs) return undefined;
      // A rev confirms only a valid key: an expired one may have been given more time.
      return apiKeyState(last.caller, nowMs) === 'active' ? last.caller : undefined;
    },
    /**
     * The key's record as it is in Redis now, or the cached one while Redis is unavailable.
     * @throws UnexpectedValue if it was edited by hand into something else
     */
    async find(keyHash: string): Promise<ApiKeyLookup> {
      return gate.open ? reread(keyHash) : findWithoutRedis(keyHash);
    },
    reread,
  };
}

/** Maximum number of records, the same as in the cache: most of them are the same objects. */
const maxRecords = 100_000;

/**
 * Remembers the newest version of each record that this process has read. A replica that lagged when it became the master
 * has lost changes that were confirmed, such as a revocation: then the record in Redis is older than one read before. Of a
 * suspension, any key of the customer tells.
 */
export function createNewestRecords<R extends ApiKeyRecord>() {
  const records = new LRUCache<string, R>({ max: maxRecords });
  /** Of customers that were suspended when one of their keys was read last. */
  const suspended = new LRUCache<CustomerId, R>({ max: maxRecords });

  /** @returns the given record, with the suspension of its customer if that is newer */
  function withSuspension(read: R): R {
    const last = suspended.get(read.customerId);
    if (last !== undefined && read.rev < last.rev) return { ...read, suspendedAt: last.suspendedAt };
    if (read.suspendedAt === undefined) suspended.delete(read.customerId);
    else suspended.set(read.customerId, read);
    return read;
  }

  return {
    /** @returns the given record, or the one that was read before if that is newer or revoked: a revocation is final */
    newest(keyHash: string, found: R): R {
      const read = withSuspension(found);
      const last = records.get(keyHash);
      if (last !== undefined && isOlder(read, last)) return last;
      records.set(keyHash, read);
      return read;
    },
  };
}

/** A revocation holds whatever the rev: it may have been lost and the record changed since, or be set by hand. */
function isOlder(read: ApiKeyRecord, last: ApiKeyRecord): boolean {
  if (read.revokedAt !== undefined) return false;
  return last.revokedAt !== undefined || read.rev < last.rev;
}
