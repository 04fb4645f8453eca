import { randomBytes } from 'node:crypto';
import { apiKeyHint, generateApiKey, hashApiKey } from '../api-keys/api-key-format.ts';
import {
  expiryOf,
  formatApiKeyRecord,
  keptSeconds,
  parseApiKeyRecord,
  type ApiKeyRecord,
} from '../api-keys/api-key-record.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { createApiKeyIndex, type IndexedKey } from './api-key-index.ts';
import type { RecordChange } from './audit-log.ts';
import { findUnindexed } from './found-keys.ts';
import { StoreRefusal } from './invalid-operation.ts';
import { assertLimits, listPlan } from './key-limits.ts';
import { rotateKey } from './rotate-key.ts';
import { createStoredKeys, maxAttempts, type StoredApiKey } from './stored-keys.ts';

export interface NewApiKey {
  name: string;
  plan: string;
  expiresAt?: Date | undefined;
  minute?: number | undefined;
  day?: number | undefined;
}

/** Undefined leaves a field as it is; null takes it away. */
export interface ApiKeyChange {
  name?: string | undefined;
  plan?: string | undefined;
  expiresAt?: Date | null | undefined;
  minute?: number | null | undefined;
  day?: number | null | undefined;
}

/** What an id in the index leads to. */
export type ListedApiKey =
  /** With the hash that all its Redis keys are named after. */
  | (Extract<StoredApiKey, { outcome: 'record' }> & { sha: string })
  | Extract<StoredApiKey, { outcome: 'broken' }>
  /** Half of the index knows the id only, so its record can't be found. */
  | { outcome: 'lost'; id: string }
  /** No record any more: it ended long ago, or was deleted by hand. */
  | { outcome: 'gone'; id: string };

export interface IssuedApiKey {
  /** Nowhere else from now on than with whoever gets this. */
  key: string;
  record: ApiKeyRecord;
}

export interface ApiKeyStore {
  /**
   * Makes a key and its record.
   * @param key a key that exists already and is to be known here too; made where absent
   * @throws StoreRefusal for an expiry in the past, an unknown plan, or Enterprise without both limits
   */
  issue(wanted: NewApiKey, key?: string): Promise<IssuedApiKey>;
  /** Throws what `issue` would throw, and makes nothing. */
  check(wanted: NewApiKey): Promise<void>;
  /**
   * Makes a key in place of another one, which works until the grace ends or its own expiry, whichever is earlier.
   * @throws StoreRefusal as `issue` and `show` do, and for a key that is not valid or has been replaced already
   */
  rotate(id: string, graceMs: number): Promise<IssuedApiKey & { old: ApiKeyRecord }>;
  /**
   * All keys by time of creation, a page at a time; none that is being issued this moment. Changes nothing, whatever
   * is wrong with the index: that is for reindexKeys to mend.
   * @throws StoreRefusal where there is no key with the id `after`
   */
  list(after?: string, pageSize?: number): AsyncGenerator<ListedApiKey[]>;
  /** See ApiKeyIndex.sizes. */
  indexSizes(): Promise<{ listed: number; hashed: number }>;
  /** See findUnindexed of found-keys.ts. */
  findUnindexed(): Promise<string | undefined>;
  /** @throws StoreRefusal where there is no such key, or its record can't be read */
  show(id: string): Promise<{ sha: string; record: ApiKeyRecord }>;
  /** @throws StoreRefusal as `issue` and `show` do, and for a key that is revoked */
  change(id: string, change: ApiKeyChange): Promise<ApiKeyRecord>;
  /**
   * Refuses the key from its next request on, whatever else its record holds. Revoking it again changes nothing.
   * @throws StoreRefusal where there is no such key
   */
  revoke(id: string): Promise<StoredApiKey>;
  /** The record of a key that somebody holds. */
  findByKey(key: string): Promise<ApiKeyRecord | undefined>;
}

const defaultPageSize = 500;

interface ApiKeyStoreDependencies {
  redis: RedisClient;
  audit: RecordChange;
  now: () => number;
}

export function createApiKeyStore({ redis, audit, now }: ApiKeyStoreDependencies): ApiKeyStore {
  const index = createApiKeyIndex({ redis, now });
  const { look, find, show, update } = createStoredKeys({ redis, index, audit });

  async function check(wanted: NewApiKey): Promise<void> {
    assertFuture(wanted.expiresAt, now());
    await assertLimits(redis, wanted);
  }

  async function issue(
    wanted: NewApiKey & { replaces?: string },
    key = generateApiKey(),
  ): Promise<IssuedApiKey> {
    await check(wanted);
    const { name, plan, expiresAt, minute, day, replaces } = wanted;
    const record: ApiKeyRecord = {
      id: `key_${randomBytes(9).toString('hex')}`,
      name,
      plan,
      hint: apiKeyHint(key),
      createdAt: new Date(now()).toISOString(),
      expiresAt: expiresAt?.toISOString(),
      minute,
      day,
      replaces,
      rev: 0,
    };
    const sha = hashApiKey(key);
    await listPlan(redis, record);
    await audit({ action: 'keys.issue', target: record.id, before: null, after: { ...record, rev: 1 } });
    // The index first: should this end half-way, it points at nothing, and nobody holds a key that works.
    await index.add(record, sha);
    const fields = formatApiKeyRecord(record);
    record.rev = await redis.changeRecord(redisKeys.apiKey(sha), 0, expiryOf(record), keptSeconds, ...fields);
    if (record.rev === 0) throw new StoreRefusal('this key exists already');
    return { key, record };
  }

  async function revoke(id: string): Promise<StoredApiKey> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const { sha, rev, key } = await find(id);
      if (key.outcome === 'record' ? key.record.revokedAt !== undefined : key.revoked) return key;
      if (key.outcome === 'broken' && rev === '') throw new StoreRefusal(key.faults.join('; '));
      const revokedAt = new Date(now()).toISOString();
      const before = key.outcome === 'record' ? key.record : key;
      await audit({ action: 'keys.revoke', target: id, before, after: { ...before, revokedAt } });
      const expiry = expiryOf(key.outcome === 'record' ? { ...key.record, revokedAt } : { revokedAt });
      // This one field, so that a record that can't be read can still be revoked.
      await redis.changeRecord(redisKeys.apiKey(sha), rev, expiry, keptSeconds, 'revokedAt', revokedAt);
    }
    throw new Error(`the key ${id} is being changed by others all the time`);
  }

  async function lookUp({ id, sha, settled }: IndexedKey): Promise<ListedApiKey | undefined> {
    if (sha === undefined) return { outcome: 'lost', id };
    const key = (await look(id, sha))?.key;
    if (key === undefined) return settled ? { outcome: 'gone', id } : undefined;
    return key.outcome === 'record' ? { ...key, sha } : key;
  }

  return {
    issue,
    check,
    rotate: (id, graceMs) => rotateKey(id, graceMs, { show, update, issue, revoke, now }),
    async *list(after, pageSize = defaultPageSize) {
      for await (const page of index.pages(after, pageSize)) {
        const found = await Promise.all(page.map(lookUp));
        yield found.filter((key) => key !== undefined);
      }
    },
    indexSizes: () => index.sizes(),
    findUnindexed: () => findUnindexed(redis, index),
    show,
    change: (id, change) =>
      update(id, 'keys.set', async (record) => {
        if (record.revokedAt !== undefined) throw new StoreRefusal(`the key ${id} is revoked`);
        assertFuture(change.expiresAt, now());
        const edited = {
          ...record,
          name: change.name ?? record.name,
          plan: change.plan ?? record.plan,
          expiresAt: changed(record.expiresAt, isoTime(change.expiresAt)),
          minute: changed(record.minute, change.minute),
          day: changed(record.day, change.day),
        };
        await assertLimits(redis, edited);
        await listPlan(redis, edited);
        return edited;
      }),
    revoke,
    async findByKey(key) {
      const parsed = parseApiKeyRecord(await redis.hgetall(redisKeys.apiKey(hashApiKey(key))));
      return parsed.outcome === 'record' ? parsed.record : undefined;
    },
  };
}

function changed<T>(value: T | undefined, change: T | null | undefined): T | undefined {
  return change === undefined ? value : (change ?? undefined);
}

function isoTime(time: Date | null | undefined): string | null | undefined {
  return time instanceof Date ? time.toISOString() : time;
}

/** @throws StoreRefusal for a time that is not to come */
function assertFuture(expiresAt: Date | null | undefined, nowMs: number): void {
  if (expiresAt instanceof Date && expiresAt.getTime() <= nowMs) {
    throw new StoreRefusal('the expiry is in the past');
  }
}
