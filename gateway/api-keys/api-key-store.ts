import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { RecordChange } from '../audit-log.ts';
import { apiKeyHint, generateApiKey, hashApiKey } from './api-key-format.ts';
import { createApiKeyIndex } from './api-key-index.ts';
import {
  type ApiKeyRecord,
  apiKeyState,
  expiryOf,
  formatApiKeyRecord,
  parseApiKeyRecord,
} from './api-key-record.ts';
import { assertLimits, listPlan } from './key-limits.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { StoreRefusal } from './store-refusal.ts';

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

/** A key as it is in Redis: its record, or what is wrong with one that was edited by hand. */
export type StoredApiKey =
  | { outcome: 'record'; record: ApiKeyRecord }
  | { outcome: 'broken'; id: string; faults: string[]; revoked: boolean };

/** With the hash that all its Redis keys are named after. */
export type ListedApiKey = StoredApiKey & { sha: string };

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
   * All keys by time of creation, a page at a time. Those whose records have expired are forgotten on the way.
   * @throws StoreRefusal where there is no key with the id `after`
   */
  list(after?: string, pageSize?: number): AsyncGenerator<ListedApiKey[]>;
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

const maxAttempts = 5;
const defaultPageSize = 500;

interface ApiKeyStoreDependencies {
  redis: Redis;
  audit: RecordChange;
  now: () => number;
}

export function createApiKeyStore({ redis, audit, now }: ApiKeyStoreDependencies): ApiKeyStore {
  const index = createApiKeyIndex({ redis, now });

  async function readFields(
    sha: string,
  ): Promise<{ rev: string; fields: Record<string, string> | 'no hash' }> {
    try {
      const fields = await redis.hgetall(redisKeys.apiKey(sha));
      return { rev: fields['rev'] ?? '0', fields };
    } catch (error) {
      if (isWrongType(error)) return { rev: '', fields: 'no hash' };
      throw error;
    }
  }

  async function look(id: string, sha: string): Promise<{ rev: string; key: StoredApiKey } | undefined> {
    const { rev, fields } = await readFields(sha);
    if (fields === 'no hash') {
      const faults = [`${redisKeys.apiKey(sha)} is not a hash any more: DEL it`];
      return { rev, key: { outcome: 'broken', id, faults, revoked: false } };
    }
    const parsed = parseApiKeyRecord(fields);
    if (parsed.outcome === 'absent') return undefined;
    return { rev, key: parsed.outcome === 'broken' ? { ...parsed, id } : parsed };
  }

  async function mustLook(id: string): Promise<{ sha: string; rev: string; key: StoredApiKey }> {
    const sha = await index.shaOf(id);
    const found = sha === undefined ? undefined : await look(id, sha);
    if (sha === undefined || found === undefined) {
      throw new StoreRefusal(`there is no API key with the id ${JSON.stringify(id)}`);
    }
    return { sha, ...found };
  }

  async function show(id: string): Promise<{ sha: string; record: ApiKeyRecord }> {
    const { sha, key } = await mustLook(id);
    if (key.outcome === 'record') return { sha, record: key.record };
    throw new StoreRefusal(
      `the record ${redisKeys.apiKey(sha)} was edited into something unusable: ${key.faults.join('; ')}`,
    );
  }

  /** Read, decide, write if nobody wrote in between; else once more. */
  async function update(
    id: string,
    action: string,
    edit: (record: ApiKeyRecord) => Promise<ApiKeyRecord>,
  ): Promise<ApiKeyRecord> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const { sha, record: before } = await show(id);
      const edited = await edit(before);
      const fields = formatApiKeyRecord(edited);
      const rev = await redis.changeRecord(redisKeys.apiKey(sha), before.rev, expiryOf(edited), ...fields);
      if (rev === 0) continue;
      const after = { ...edited, rev };
      await audit({ action, target: id, before, after });
      return after;
    }
    throw new Error(`the key ${id} is being changed by others all the time`);
  }

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
    // The index first: should this end half-way, it points at nothing, and nobody holds a key that works.
    await index.add(record.id, sha, now());
    const fields = formatApiKeyRecord(record);
    record.rev = await redis.changeRecord(redisKeys.apiKey(sha), 0, expiryOf(record), ...fields);
    if (record.rev === 0) throw new StoreRefusal('this key exists already');
    await audit({ action: 'keys.issue', target: record.id, before: null, after: record });
    return { key, record };
  }

  async function revoke(id: string): Promise<StoredApiKey> {
    let before: unknown;
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const { sha, rev, key } = await mustLook(id);
      if (key.outcome === 'record' ? key.record.revokedAt !== undefined : key.revoked) {
        if (before !== undefined)
          await audit({ action: 'keys.revoke', target: id, before, after: audited(key) });
        return key;
      }
      const revokedAt = new Date(now()).toISOString();
      const expiry = expiryOf(key.outcome === 'record' ? { ...key.record, revokedAt } : { revokedAt });
      // This one field, so that a record that can't be read can still be revoked.
      const changed = await redis.changeRecord(redisKeys.apiKey(sha), rev, expiry, 'revokedAt', revokedAt);
      if (changed > 0) before = audited(key);
    }
    throw new Error(`the key ${id} is being changed by others all the time`);
  }

  return {
    issue,
    check,
    async rotate(id, graceMs) {
      const { record } = await show(id);
      const state = apiKeyState(record, now());
      if (state !== 'valid') throw new StoreRefusal(`the key ${id} is ${state}: issue a new one`);
      if (record.replacedBy !== undefined) {
        throw new StoreRefusal(`the key ${id} has been replaced by ${record.replacedBy} already`);
      }
      const { name, plan, minute, day, expiresAt } = record;
      const ownEnd = expiresAt === undefined ? undefined : new Date(expiresAt);
      const issued = await issue({ name, plan, minute, day, expiresAt: ownEnd, replaces: id });
      try {
        const old = await update(id, 'keys.rotate', (current) =>
          Promise.resolve({
            ...current,
            expiresAt: earlier(current.expiresAt, now() + graceMs),
            replacedBy: issued.record.id,
          }),
        );
        return { ...issued, old };
      } catch (error) {
        // Nobody is told of the new key, so nobody should be able to use it.
        await revoke(issued.record.id);
        throw error;
      }
    },
    async *list(after, pageSize = defaultPageSize) {
      for await (const page of index.pages(after, pageSize)) {
        const found = await Promise.all(
          page.map(async ({ id, sha }) => ({
            id,
            listed: sha === undefined ? undefined : { sha, stored: await look(id, sha) },
          })),
        );
        yield found.flatMap(({ listed }) =>
          listed?.stored === undefined ? [] : [{ ...listed.stored.key, sha: listed.sha }],
        );
        await index.forget(found.flatMap(({ id, listed }) => (listed?.stored === undefined ? [id] : [])));
      }
    },
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

/** What the audit log holds of a key. */
function audited(key: StoredApiKey): unknown {
  return key.outcome === 'record' ? key.record : key;
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

function earlier(expiresAt: string | undefined, ms: number): string {
  const time = new Date(ms).toISOString();
  return expiresAt !== undefined && Date.parse(expiresAt) <= ms ? expiresAt : time;
}
