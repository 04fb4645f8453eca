import { LRUCache } from 'lru-cache';
import type { FaultReport } from '../observability/invalid-values.ts';
import type { Plans } from '../plans/plans.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { RedisUnavailable, type RedisGate } from '../redis/redis-gate.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { apiKeyState, parseApiKeyRecord, type ApiKeyRecord } from './api-key-record.ts';

/** Stands for every rev: consume.lua and read-usage-5.lua then do not compare. */
export const anyRev = -1;

/** Who makes a request: the record of a valid API key and the hash it is stored under. */
export interface Caller extends ApiKeyRecord {
  /** Hexadecimal SHA-256 of the API key. */
  sha: string;
}

export type ApiKeyLookup =
  | { outcome: 'valid'; caller: Caller }
  | { outcome: 'unknown' | 'expired' | 'revoked' }
  /** Redis can't be asked, or holds a record that can't be read, and nothing recent is remembered. */
  | { outcome: 'unavailable' };

export interface ApiKeys {
  /** Whose key it is by memory alone, where that is fresh enough to be proven by its `rev`. */
  recall(sha: string): Caller | undefined;
  /** The key's record as it is in Redis now, or as it is remembered while Redis is away. */
  find(sha: string): Promise<ApiKeyLookup>;
  /** The key's record as it is in Redis now. */
  reread(sha: string): Promise<ApiKeyLookup>;
}

interface ApiKeysDependencies {
  redis: RedisClient;
  gate: RedisGate;
  faults: FaultReport;
  /** Told of each record that is read, so that its plan is known before limits are asked for. */
  plans: Pick<Plans, 'learn' | 'limitsOf'>;
  now: () => number;
}

const rememberedKeys = 100_000;
/** A remembered record is only a hint, proven by its rev; older than this it is not even tried. */
const hintMs = 10_000;
/** How long a remembered record serves while Redis is away. */
const outageMs = 15 * 60_000;

interface Remembered {
  caller: Caller;
  readAtMs: number;
  /** What the caller was made of. */
  fields: Record<string, string> | undefined;
}

export function createApiKeys({ redis, gate, faults, plans, now }: ApiKeysDependencies): ApiKeys {
  const remembered = new LRUCache<string, Remembered>({ max: rememberedKeys });
  const reading = new Map<string, Promise<ApiKeyLookup>>();

  async function read(sha: string): Promise<ApiKeyLookup> {
    const key = redisKeys.apiKey(sha);
    let fields: Record<string, string>;
    try {
      fields = await gate.send(() => redis.hgetall(key));
    } catch (error) {
      if (!(error instanceof RedisUnavailable)) faults.report(key, [String(error)]);
      return duringOutage(sha);
    }
    const last = remembered.get(sha);
    if (last?.fields !== undefined && isSame(last.fields, fields)) {
      faults.report(key, []);
      // The same object, since others keep what they make of a caller for as long as it is the same.
      return remember(last.caller, fields);
    }
    const parsed = parseApiKeyRecord(fields);
    faults.report(key, parsed.outcome === 'broken' ? parsed.faults : []);
    switch (parsed.outcome) {
      case 'absent':
        remembered.delete(sha);
        return { outcome: 'unknown' };
      case 'broken':
        return parsed.revoked ? { outcome: 'revoked' } : lastGoodUnderNewRev(sha, fields['rev']);
      case 'record':
        return remember({ ...parsed.record, sha }, fields);
    }
  }

  /** Once its plan is known: whoever finds it by memory does not wait for that. */
  async function remember(caller: Caller, fields: Record<string, string>): Promise<ApiKeyLookup> {
    // An outage in between shows when its limits are asked for.
    await gate.send(() => plans.learn(caller.plan)).catch(() => {});
    remembered.set(caller.sha, { caller, readAtMs: plans.limitsOf(caller) ? now() : tooOld(), fields });
    return judge(caller);
  }

  /** For a record that would not get to be proven by its rev: it is read anew for each request. */
  const tooOld = () => now() - hintMs - 1;

  function judge(caller: Caller): ApiKeyLookup {
    const state = apiKeyState(caller, now());
    return state === 'valid' ? { outcome: 'valid', caller } : { outcome: state };
  }

  /** A record that was edited into nonsense does not lock its owner out: the last good one goes on serving. */
  function lastGoodUnderNewRev(sha: string, rev: string | undefined): ApiKeyLookup {
    const last = remembered.get(sha);
    if (last === undefined) return { outcome: 'unavailable' };
    const comparable = /^\d{1,15}$/.test(rev ?? '0');
    last.caller = { ...last.caller, rev: comparable ? Number(rev ?? '0') : anyRev };
    // It may have been revoked, and no rev would tell.
    last.readAtMs = comparable ? now() : tooOld();
    last.fields = undefined;
    return judge(last.caller);
  }

  function duringOutage(sha: string): ApiKeyLookup {
    const last = remembered.get(sha);
    if (last === undefined || now() - last.readAtMs > outageMs) return { outcome: 'unavailable' };
    return judge(last.caller);
  }

  /** However many requests of one key wait for its record, Redis is asked once. */
  function reread(sha: string): Promise<ApiKeyLookup> {
    let pending = reading.get(sha);
    if (pending === undefined) {
      pending = read(sha).finally(() => reading.delete(sha));
      reading.set(sha, pending);
    }
    return pending;
  }

  return {
    recall(sha) {
      if (!gate.open) return undefined;
      const last = remembered.get(sha);
      if (last === undefined || now() - last.readAtMs > hintMs) return undefined;
      // Only what is valid is proven by its rev later on: a key that has expired may have been given more time.
      return apiKeyState(last.caller, now()) === 'valid' ? last.caller : undefined;
    },
    async find(sha) {
      return gate.open ? reread(sha) : duringOutage(sha);
    },
    reread,
  };
}

function isSame(fields: Record<string, string>, others: Record<string, string>): boolean {
  const names = Object.keys(fields);
  return names.length === Object.keys(others).length && names.every((name) => fields[name] === others[name]);
}
