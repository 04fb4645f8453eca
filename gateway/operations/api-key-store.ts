import { randomBytes } from 'node:crypto';
import { apiKeyHint, generateApiKey, hashApiKey } from '../api-keys/api-key-format.ts';
import { formatApiKeyRecord, recordExpiry, type ApiKeyRecord } from '../api-keys/api-key-record.ts';
import {
  formatCustomerRecord,
  type CustomerLimits,
  type CustomerRecord,
} from '../api-keys/customer-record.ts';
import { readApiKey } from '../api-keys/read-api-key.ts';
import { changedLimits, limitsIn, type SomeLimits } from '../limits/limits.ts';
import { temporaryAt, type TemporaryLimits } from '../limits/temporary-limits.ts';
import { windowNames, type ByWindow } from '../limits/windows.ts';
import type { Change } from '../redis/record-change.ts';
import { redisKeys, type CustomerId, type KeyPlace } from '../redis/redis-keys.ts';
import {
  addCustomerToIndex,
  addToIndex,
  indexPages,
  indexSizes,
  placeOfHash,
  type IndexedKey,
} from './api-key-index.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { assertLimits, listPlan } from './key-limits.ts';
import { assertAccess } from './known-access.ts';
import { assertRev } from './overtaken-change.ts';
import { recordChangeCall } from './record-change-call.ts';
import { rotateKey } from './rotate-key.ts';
import { findUnindexed } from './scan-records.ts';
import type { Session } from './session.ts';
import { showCustomer } from './stored-customers.ts';
import {
  findStoredKey,
  maxAttempts,
  readStoredKey,
  showStoredKey,
  tooManyChanges,
  updateStoredKey,
  type StoredApiKey,
} from './stored-keys.ts';

/** A key of a customer that exists. */
export interface FurtherApiKey {
  /** The customer's by default. */
  name?: string | undefined;
  expiresAt?: Date | undefined;
  /** Undefined for all. */
  scopes?: readonly string[] | undefined;
}

/** A key of a customer that is made with it, of the same name. */
export interface NewApiKey extends FurtherApiKey, SomeLimits {
  name: string;
  plan: string;
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
  | (Extract<StoredApiKey, { outcome: 'record' }> & { place: KeyPlace })
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
   * Issues a key with a customer of its own.
   * @param key an existing key to store; generated if absent
   * @throws InvalidOperation for an expiry in the past, an unknown scope or plan, or Enterprise without both limits
   */
  issue(wanted: NewApiKey, key?: string): Promise<IssuedApiKey>;
  /**
   * Issues a further key of a customer, which shares its plan, its limits and what is used of them.
   * @throws InvalidOperation as `issue` does, and if there is no such customer
   */
  issueFor(customerId: CustomerId, wanted: FurtherApiKey): Promise<IssuedApiKey>;
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
  show(id: string): Promise<{ place: KeyPlace; record: ApiKeyRecord }>;
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

  function newRecord(
    customer: CustomerRecord,
    wanted: FurtherApiKey & Pick<ApiKeyRecord, 'replaces' | 'batch'>,
    key: string,
  ): ApiKeyRecord {
    const { plan, trial, temporary, suspendedAt, id: customerId } = customer;
    const { name = customer.name, expiresAt, scopes, replaces, batch } = wanted;
    return {
      id: `key_${randomBytes(9).toString('hex')}`,
      customerId,
      name,
      plan,
      hint: apiKeyHint(key),
      createdAt: new Date(now()).toISOString(),
      expiresAt: expiresAt?.toISOString(),
      scopes,
      ...limitsIn(customer),
      temporary,
      trial,
      suspendedAt,
      replaces,
      batch,
      rev: customer.rev,
    };
  }

  /**
   * Writes a new key, and its customer if that is new, too.
   * @returns undefined if the customer was changed in between
   */
  async function write(
    record: ApiKeyRecord,
    key: string,
    customer?: CustomerRecord,
  ): Promise<IssuedApiKey | undefined> {
    const { customerId } = record;
    const keyHash = hashApiKey(key);
    const other = await placeOfHash(redis, keyHash);
    if (other !== undefined && (await redis.exists(redisKeys.apiKey(other))) === 1) {
      throw new InvalidOperation('this key exists already');
    }
    // The index first: if this is interrupted, the entry leads nowhere, and nobody has a key that works.
    if (customer !== undefined) await addCustomerToIndex({ redis, now }, customer);
    await addToIndex({ redis, now }, record, { customerId, keyHash });
    const { rev: _unknownYet, ...after } = record;
    const entries: Change[] = [{ action: 'keys.issue', target: record.id, before: null, after }];
    const rev = await audit.make(record.batch === undefined ? entries : [], {
      script: 'changeRecordAudited',
      ...recordChangeCall({
        customerId,
        rev: record.rev,
        ...(customer && { customer: formatCustomerRecord(customer) }),
        key: {
          keyHash,
          fields: formatApiKeyRecord(record),
          expiry: recordExpiry(record),
          isNew: true,
        },
      }),
    });
    return rev ? { key, record: { ...record, rev } } : undefined;
  }

  async function issue(
    wanted: NewApiKey & Pick<ApiKeyRecord, 'batch'>,
    key = generateApiKey(),
  ): Promise<IssuedApiKey> {
    await check(wanted);
    const customer: CustomerRecord = {
      id: `cus_${randomBytes(9).toString('hex')}`,
      name: wanted.name,
      plan: wanted.plan,
      createdAt: new Date(now()).toISOString(),
      ...limitsIn(wanted),
      rev: 0,
    };
    await listPlan(redis, customer);
    const issued = await write(newRecord(customer, wanted, key), key, customer);
    if (issued === undefined) throw new InvalidOperation('this key exists already');
    return issued;
  }

  async function issueFor(
    customerId: CustomerId,
    wanted: FurtherApiKey & Pick<ApiKeyRecord, 'replaces'>,
  ): Promise<IssuedApiKey> {
    assertFuture(wanted.expiresAt, now());
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const customer = await showCustomer(redis, customerId);
      await assertAccess(redis, { ...customer, scopes: wanted.scopes });
      const key = generateApiKey();
      const issued = await write(newRecord(customer, wanted, key), key);
      if (issued !== undefined) return issued;
    }
    throw tooManyChanges(customerId);
  }

  async function revoke(id: string): Promise<StoredApiKey> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const { place, rev, key } = await findStoredKey(redis, id);
      if (key.outcome === 'record' ? key.record.revokedAt !== undefined : key.revoked) return key;
      if (key.outcome === 'invalid' && rev === '') throw new InvalidOperation(key.issues.join('; '));
      const revokedAt = new Date(now()).toISOString();
      const before = key.outcome === 'record' ? key.record : key;
      const expiry = recordExpiry(key.outcome === 'record' ? { ...key.record, revokedAt } : { revokedAt });
      // Writes this one field only, so that a key with an invalid record can be revoked, too.
      await audit.make([{ action: 'keys.revoke', target: id, before, after: { ...before, revokedAt } }], {
        script: 'changeRecordAudited',
        ...recordChangeCall({
          customerId: place.customerId,
          rev,
          key: { keyHash: place.keyHash, fields: { revokedAt }, expiry },
        }),
      });
    }
    throw tooManyChanges(id);
  }

  async function lookUp({ id, place, settled }: IndexedKey): Promise<ListedApiKey | undefined> {
    if (place === undefined) return { outcome: 'lost', id };
    const key = (await readStoredKey(redis, id, place))?.key;
    if (key === undefined) return settled ? { outcome: 'gone', id } : undefined;
    return key.outcome === 'record' ? { ...key, place } : key;
  }

  return {
    issue,
    issueFor,
    issueForBatch: (wanted, batch) => issue({ ...wanted, batch }),
    check,
    rotate: (id, graceMs) => rotateKey({ redis, audit, now }, id, graceMs, { issueFor, revoke }),
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
      const place = await placeOfHash(redis, hashApiKey(key));
      const read = place && (await readApiKey(redis, place));
      return read?.outcome === 'record' ? read.record : undefined;
    },
  };
}

/** Before the limits of a record that may have fewer than before. */
export const noOwnLimits: SomeLimits = Object.fromEntries(windowNames.map((name) => [name, undefined]));

/** A field after a change: undefined leaves it as it is, null removes it. */
export function changed<T>(value: T | undefined, change: T | null | undefined): T | undefined {
  return change === undefined ? value : (change ?? undefined);
}

function isoTime(time: Date | null | undefined): string | null | undefined {
  return time instanceof Date ? time.toISOString() : time;
}

/** Temporary limits after a change. @throws InvalidOperation for an end in the past */
export function changedTemporary(
  record: CustomerLimits,
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
