import { randomBytes } from 'node:crypto';
import { apiKeyHint, generateApiKey, hashApiKey } from '../api-keys/api-key-format.ts';
import {
  formatApiKeyRecord,
  keptSeconds,
  parseApiKeyRecord,
  recordExpiry,
  type ApiKeyRecord,
} from '../api-keys/api-key-record.ts';
import { changedLimits, limitsIn, type SomeLimits } from '../limits/limits.ts';
import { temporaryAt, type TemporaryLimits } from '../limits/temporary-limits.ts';
import { windowNames, type ByWindow } from '../limits/windows.ts';
import type { Change } from '../redis/record-change.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { addToIndex, indexPages, indexSizes, type IndexedKey } from './api-key-index.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { assertLimits, listPlan } from './key-limits.ts';
import { assertAccess } from './known-access.ts';
import { assertRev } from './overtaken-change.ts';
import { rotateKey } from './rotate-key.ts';
import { findUnindexed } from './scan-records.ts';
import type { Session } from './session.ts';
import {
  findStoredKey,
  maxAttempts,
  readStoredKey,
  showStoredKey,
  tooManyChanges,
  updateStoredKey,
  type StoredApiKey,
} from './stored-keys.ts';

export interface NewApiKey extends SomeLimits {
  name: string;
  plan: string;
  expiresAt?: Date | undefined;
  /** Undefined for all. */
  scopes?: readonly string[] | undefined;
}

/** Undefined leaves a field unchanged; null removes it. */
export interface ApiKeyChange extends ByWindow<number | null> {
  /** Rev of the record that the change is based on; any if undefined. */
  rev?: number | undefined;
  name?: string | undefined;
  plan?: string | undefined;
  expiresAt?: Date | null | undefined;
  scopes?: readonly string[] | null | undefined;
  temporary?: (SomeLimits & { until: Date }) | null | undefined;
}

/** A key as the list shows it. */
export type ListedApiKey =
  | (Extract<StoredApiKey, { outcome: 'record' }> & { keyHash: string })
  | Extract<StoredApiKey, { outcome: 'invalid' }>
  /** Only gw:keys has the id, so its record can't be found. */
  | { outcome: 'lost'; id: string }
  /** There is no record: it expired long ago, or was deleted by hand. */
  | { outcome: 'gone'; id: string };

export interface IssuedApiKey {
  /** Not stored anywhere: only the caller has it. */
  key: string;
  record: ApiKeyRecord;
}

export interface ApiKeyStore {
  /**
   * Issues a key.
   * @param key an existing key to store; generated if absent
   * @throws InvalidOperation for an expiry in the past, an unknown scope or plan, or Enterprise without both limits
   */
  issue(wanted: NewApiKey, key?: string): Promise<IssuedApiKey>;
  /** Issues a key without an audit entry of its own: the batch has one (issue-batch.ts). */
  issueForBatch(wanted: NewApiKey, batch: string): Promise<IssuedApiKey>;
  /** Throws what `issue` would throw, and changes nothing. */
  check(wanted: NewApiKey): Promise<void>;
  /**
   * Issues a key that replaces another one, which works until the grace period or its own expiry ends, whichever is
   * earlier.
   * @throws InvalidOperation as `issue` and `show` do, and for a key that is not valid or was replaced before
   */
  rotate(id: string, graceMs: number): Promise<IssuedApiKey & { old: ApiKeyRecord }>;
  /**
   * All keys by time of creation, in pages, without those that are being issued. Changes nothing, whatever is wrong with
   * the index: reindexKeys repairs it.
   * @throws InvalidOperation if there is no key with the id `after`
   */
  list(after?: string, pageSize?: number): AsyncGenerator<ListedApiKey[]>;
  /** See api-key-index.ts. */
  indexSizes(): Promise<{ listed: number; hashed: number }>;
  /** See scan-records.ts. */
  findUnindexed(): Promise<string | undefined>;
  /** @throws InvalidOperation if there is no such key */
  find(id: string): Promise<StoredApiKey>;
  /** @throws InvalidOperation if there is no such key, or its record is invalid */
  show(id: string): Promise<{ keyHash: string; record: ApiKeyRecord }>;
  /** @throws InvalidOperation as `issue` and `show` do, and for a revoked key; OvertakenChange for another rev */
  change(id: string, change: ApiKeyChange): Promise<ApiKeyRecord>;
  /**
   * Refuses the key from its next request on, even if its record is invalid. Revoking it again changes nothing.
   * @throws InvalidOperation if there is no such key
   */
  revoke(id: string): Promise<StoredApiKey>;
  /** Finds the record of a key. */
  findByKey(key: string): Promise<ApiKeyRecord | undefined>;
}

const defaultPageSize = 500;

export function createApiKeyStore({ redis, audit, now }: Session): ApiKeyStore {
  const show = (id: string) => showStoredKey(redis, id);

  async function check(wanted: NewApiKey): Promise<void> {
    assertFuture(wanted.expiresAt, now());
    await assertLimits(redis, wanted);
    await assertAccess(redis, wanted);
  }

  async function issue(
    wanted: NewApiKey & Pick<ApiKeyRecord, 'replaces' | 'trial' | 'temporary' | 'batch'>,
    key = generateApiKey(),
  ): Promise<IssuedApiKey> {
    await check(wanted);
    const { name, plan, expiresAt, scopes, replaces, trial, temporary, batch } = wanted;
    const record: ApiKeyRecord = {
      id: `key_${randomBytes(9).toString('hex')}`,
      name,
      plan,
      hint: apiKeyHint(key),
      createdAt: new Date(now()).toISOString(),
      expiresAt: expiresAt?.toISOString(),
      scopes,
      ...limitsIn(wanted),
      temporary,
      trial,
      replaces,
      batch,
      rev: 0,
    };
    const keyHash = hashApiKey(key);
    await listPlan(redis, record);
    // The index first: if this is interrupted, the entry leads nowhere, and nobody has a key that works.
    await addToIndex({ redis, now }, record, keyHash);
    const { rev: _unknownYet, ...after } = record;
    const entries: Change[] = [{ action: 'keys.issue', target: record.id, before: null, after }];
    const rev = await audit.make(batch === undefined ? entries : [], {
      script: 'changeRecordAudited',
      keys: [redisKeys.apiKey(keyHash)],
      args: [0, recordExpiry(record), keptSeconds, ...formatApiKeyRecord(record)],
    });
    if (!rev) throw new InvalidOperation('this key exists already');
    return { key, record: { ...record, rev } };
  }

  async function revoke(id: string): Promise<StoredApiKey> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const { keyHash, rev, key } = await findStoredKey(redis, id);
      if (key.outcome === 'record' ? key.record.revokedAt !== undefined : key.revoked) return key;
      if (key.outcome === 'invalid' && rev === '') throw new InvalidOperation(key.issues.join('; '));
      const revokedAt = new Date(now()).toISOString();
      const before = key.outcome === 'record' ? key.record : key;
      const expiry = recordExpiry(key.outcome === 'record' ? { ...key.record, revokedAt } : { revokedAt });
      // Writes this one field only, so that a key with an invalid record can be revoked, too.
      await audit.make([{ action: 'keys.revoke', target: id, before, after: { ...before, revokedAt } }], {
        script: 'changeRecordAudited',
        keys: [redisKeys.apiKey(keyHash)],
        args: [rev, expiry, keptSeconds, 'revokedAt', revokedAt],
      });
    }
    throw tooManyChanges(id);
  }

  async function lookUp({ id, keyHash, settled }: IndexedKey): Promise<ListedApiKey | undefined> {
    if (keyHash === undefined) return { outcome: 'lost', id };
    const key = (await readStoredKey(redis, id, keyHash))?.key;
    if (key === undefined) return settled ? { outcome: 'gone', id } : undefined;
    return key.outcome === 'record' ? { ...key, keyHash } : key;
  }

  return {
    issue,
    issueForBatch: (wanted, batch) => issue({ ...wanted, batch }),
    check,
    rotate: (id, graceMs) => rotateKey({ redis, audit, now }, id, graceMs, { issue, revoke }),
    async *list(after, pageSize = defaultPageSize) {
      for await (const page of indexPages({ redis, now }, after, pageSize)) {
        const found = await Promise.all(page.map(lookUp));
        yield found.filter((key) => key !== undefined);
      }
    },
    indexSizes: () => indexSizes(redis),
    findUnindexed: () => findUnindexed(redis),
    find: async (id) => (await findStoredKey(redis, id)).key,
    show,
    change: (id, change) =>
      updateStoredKey({ redis, audit }, id, 'keys.set', async (record) => {
        assertRev(record, change.rev);
        if (record.revokedAt !== undefined) throw new InvalidOperation(`the key ${id} is revoked`);
        assertFuture(change.expiresAt, now());
        const edited = {
          ...record,
          name: change.name ?? record.name,
          plan: change.plan ?? record.plan,
          expiresAt: changed(record.expiresAt, isoTime(change.expiresAt)),
          scopes: changed(record.scopes, change.scopes),
          ...noOwnLimits,
          ...changedLimits(record, change),
          temporary: changedTemporary(record, change, now()),
        };
        await assertLimits(redis, edited);
        await assertAccess(redis, edited);
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

/** Before the limits of a record that may have fewer than before. */
const noOwnLimits: SomeLimits = Object.fromEntries(windowNames.map((name) => [name, undefined]));

function changed<T>(value: T | undefined, change: T | null | undefined): T | undefined {
  return change === undefined ? value : (change ?? undefined);
}

function isoTime(time: Date | null | undefined): string | null | undefined {
  return time instanceof Date ? time.toISOString() : time;
}

/** Temporary limits after a change. @throws InvalidOperation for an end in the past */
export function changedTemporary(
  record: ApiKeyRecord,
  { temporary }: Pick<ApiKeyChange, 'temporary'>,
  nowMs: number,
): TemporaryLimits | undefined {
  assertFuture(temporary?.until, nowMs, 'the end of the temporary limits');
  return changed(
    temporaryAt(record, nowMs),
    temporary && { ...limitsIn(temporary), until: temporary.until.toISOString() },
  );
}

/** @throws InvalidOperation for a time in the past */
function assertFuture(time: Date | null | undefined, nowMs: number, what = 'the expiry'): void {
  if (time instanceof Date && time.getTime() <= nowMs) {
    throw new InvalidOperation(`${what} is in the past`);
  }
}
