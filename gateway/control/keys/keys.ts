import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { apiKeyHint, generateApiKey, hashApiKey } from '../../keys/api-key-format.ts';
import {
  apiKeyState,
  formatCustomerRecord,
  type ApiKeyRecord,
  type CustomerRecord,
} from '../../keys/records.ts';
import { limitsIn } from '../../limits/limits.ts';
import { fieldsIn, keyFields } from '../../limits/record-fields.ts';
import { isRedisConnectionLost } from '../../platform/redis/redis-errors.ts';
import type { CustomerId } from '../../platform/redis/redis-keys.ts';
import { carryOverBan } from '../bans/bans.ts';
import { assertAccess, assertLimits, assertPermitted, listPlan } from '../customers/permitted-limits.ts';
import { addCustomerToIndex, newCustomer, showCustomer } from '../customers/stored-customers.ts';
import { ignoreInvalid, InvalidOperation, OperationFailure, StaleKey } from '../invalid-operation.ts';
import { assertRev, retryOvertaken } from '../overtaken-change.ts';
import { writeRecord } from '../record-change-call.ts';
import { withChange } from '../records.ts';
import type { Session } from '../session.ts';
import type { furtherKeyInput, keyChangeInput, newKeyInput, WithoutNulls } from './key-input.ts';
import { addToIndex, forgetEndedKeys, showStoredKey, updateStoredKey } from './stored-keys.ts';

/** A key of a customer that exists. */
export type FurtherApiKey = WithoutNulls<z.output<typeof furtherKeyInput>>;

type FurtherKey = FurtherApiKey & Pick<ApiKeyRecord, 'replaces'>;

/** @throws InvalidOperation for a key that its customer may not have */
export type ConfineKey = (wanted: FurtherKey) => Promise<FurtherKey>;

/** A key of a customer that is made with it, of the same name. */
export type NewApiKey = WithoutNulls<z.output<typeof newKeyInput>>;

/** Undefined leaves a field unchanged; null removes it. */
export interface ApiKeyChange extends z.output<typeof keyChangeInput> {
  /** Rev of the record that the change is based on; any if undefined. */
  rev?: number | undefined;
}

export interface IssuedApiKey {
  /** Not stored anywhere: only the caller has it. */
  key: string;
  record: ApiKeyRecord;
}

/**
 * Issues a key with a customer of its own.
 * @param key one to store that has no record; generated if absent
 * @throws InvalidOperation for an expiry in the past, an unknown scope or plan, or Enterprise without a limit of its own
 */
export async function issueKey(session: Session, wanted: NewApiKey, key = generateApiKey()) {
  const { redis, now } = session;
  assertFuture(wanted.expiresAt, now());
  await assertPermitted(redis, wanted);
  const customer = newCustomer(wanted, now());
  await listPlan(redis, customer);
  const record = newRecord(customer, wanted, { id: newKeyId(), key }, now());
  const issued = await write(session, record, key, customer);
  if (issued === undefined) throw new InvalidOperation('this key exists already');
  return issued;
}

/**
 * Issues a further key of a customer, which shares its plan, its limits and what is used of them.
 * @throws InvalidOperation as `issueKey` does, and if there is no such customer. A key that replaces another one may be on a
 * plan that is gone and have scopes that are, as that one does
 * @param confine checks the key that is wanted, or narrows it, by the keys that the customer has at the moment it is written
 */
export async function issueFurtherKey(
  session: Session,
  customerId: CustomerId,
  further: FurtherKey,
  confine: ConfineKey = (wanted) => Promise.resolve(wanted),
): Promise<IssuedApiKey> {
  const { redis, now } = session;
  assertFuture(further.expiresAt, now());
  // The same in each attempt, so that none leaves an entry of its own in the index.
  const made = { id: newKeyId(), key: generateApiKey() };
  const issued = await retryOvertaken(`the customer ${customerId}`, async () => {
    const customer = await showCustomer(redis, customerId);
    const wanted = await confine(further);
    if (wanted.replaces === undefined) {
      await assertLimits(redis, customer);
      await assertAccess(redis, { ...customer, scopes: wanted.scopes });
    }
    return write(session, newRecord(customer, wanted, made, now()), made.key);
  });
  await forgetEndedKeys(redis, customerId);
  return issued;
}

/** @throws InvalidOperation for a time in the past */
function assertFuture(time: Date | null | undefined, nowMs: number): void {
  if (time instanceof Date && time.getTime() <= nowMs) {
    throw new InvalidOperation('the expiry is in the past');
  }
}

const newKeyId = () => `key_${randomBytes(9).toString('hex')}`;

function newRecord(
  customer: CustomerRecord,
  wanted: FurtherKey,
  { id, key }: Pick<ApiKeyRecord, 'id'> & Pick<IssuedApiKey, 'key'>,
  nowMs: number,
): ApiKeyRecord {
  const { plan, suspendedAt, id: customerId, rev } = customer;
  const { name = customer.name, expiresAt, ...own } = wanted;
  return {
    ...own,
    id,
    customerId,
    name,
    plan,
    hint: apiKeyHint(key),
    createdAt: new Date(nowMs).toISOString(),
    expiresAt: expiresAt?.toISOString(),
    ...limitsIn(customer),
    suspendedAt,
    rev,
  };
}

/**
 * Writes a new key, and its customer if that is new, too.
 * @returns undefined if the customer was changed in between
 */
async function write(session: Session, record: ApiKeyRecord, key: string, customer?: CustomerRecord) {
  const { redis } = session;
  const { customerId } = record;
  const keyHash = hashApiKey(key);
  // The index first: if this is interrupted, the entry leads nowhere, and nobody has a key that works.
  if (customer !== undefined) await addCustomerToIndex(redis, customer);
  await addToIndex(redis, record, { customerId, keyHash });
  const written = await writeRecord(session, { action: 'keys.issue', before: null }, record, {
    customerId,
    customer: customer && formatCustomerRecord(customer),
    key: { keyHash, record, isNew: true },
  });
  return written && { key, record: written };
}

/**
 * @throws InvalidOperation for an expiry in the past, an unknown scope, an unknown id and a revoked key; OvertakenChange for
 * another rev
 */
export function changeKey(session: Session, id: string, change: ApiKeyChange): Promise<ApiKeyRecord> {
  const { redis, now } = session;
  const { rev, expiresAt, ...given } = change;
  return updateStoredKey(session, id, 'keys.set', async (record) => {
    assertRev(record, rev);
    if (record.revokedAt !== undefined) throw new InvalidOperation(`the key ${id} is revoked`);
    assertFuture(expiresAt, now());
    const time = expiresAt instanceof Date ? expiresAt.toISOString() : expiresAt;
    const edited = withChange(record, { ...given, expiresAt: time });
    if (given.scopes !== undefined) await assertAccess(redis, edited);
    return edited;
  });
}

/**
 * Refuses the key from its next request on. Revoking it again changes nothing.
 * @throws InvalidOperation if there is no such key
 */
export function revokeKey(session: Session, id: string): Promise<ApiKeyRecord> {
  const revokedAt = new Date(session.now()).toISOString();
  return updateStoredKey(session, id, 'keys.revoke', (record) =>
    record.revokedAt === undefined ? { ...record, revokedAt } : record,
  );
}

/**
 * Issues a key that replaces another one, which works until the grace period or its own expiry ends, whichever is
 * earlier. It takes over what operators gave the old one, and its ban; all else is the customer's.
 * @throws InvalidOperation as `issueFurtherKey` and `showStoredKey` do, and for a key that is not valid or was replaced before
 */
export async function rotateKey(session: Session, id: string, graceMs: number, confine?: ConfineKey) {
  const { redis, now } = session;
  const { place, record } = await showStoredKey(redis, id);
  const { name, customerId, replacedBy } = record;
  const replacement =
    replacedBy === undefined ? undefined : (await ignoreInvalid(showStoredKey(redis, replacedBy)))?.record;
  const isReplaced = replacement !== undefined && apiKeyState(replacement, now()) === 'active';
  if (record.revokedAt === undefined && isReplaced) throw alreadyReplaced(record);
  assertValid(record, now());
  // The expiry of a key that was replaced before is the end of its grace period.
  const expiresAt =
    replacement === undefined ? record.expiresAt : later(record.expiresAt, replacement.expiresAt);
  const ownExpiry = expiresAt === undefined ? undefined : new Date(expiresAt);
  const wanted = { name, ...fieldsIn(keyFields, record), expiresAt: ownExpiry, replaces: id };
  const issued = await issueFurtherKey(session, customerId, wanted, confine);
  try {
    await carryOverBan(session, place, issued.record.id);
    const old = await updateStoredKey(session, id, 'keys.rotate', (current) => {
      // Another operator may have changed it since it was first read.
      assertValid(current, now());
      if (current.replacedBy !== replacedBy) throw alreadyReplaced(current);
      return {
        ...current,
        expiresAt: earlier(current.expiresAt, now() + graceMs),
        replacedBy: issued.record.id,
      };
    });
    return { ...issued, old };
  } catch (error) {
    // Whether the old key is replaced is not known, so the new one stays as it is.
    if (isRedisConnectionLost(error)) {
      throw new OperationFailure(
        `Redis became unavailable while ${id} was being replaced by ${issued.record.id}, whose key nobody has got; ` +
          `when Redis is available, rotate ${id} again: it says how to go on if it was replaced`,
      );
    }
    // Nobody gets the new key, so it must not work.
    await revokeKey(session, issued.record.id);
    throw error;
  }
}

function assertValid(record: ApiKeyRecord, nowMs: number): void {
  const { customerId } = record;
  const state = apiKeyState(record, nowMs);
  if (state === 'suspended') {
    throw new InvalidOperation(
      `the customer of the key ${record.id} is suspended: resume it first (ops customers resume ${customerId})`,
    );
  }
  if (state !== 'active') throw new StaleKey(`the key ${record.id} is ${state}: issue a new one`);
}

function alreadyReplaced({ id, replacedBy }: ApiKeyRecord): StaleKey {
  return new StaleKey(
    `the key ${id} has been replaced by ${replacedBy} already; if nobody has got that key, rotate ${replacedBy} ` +
      'with a grace period of 0s',
  );
}

function earlier(expiresAt: string | undefined, ms: number): string {
  const end = expiresAt === undefined ? ms : Math.min(Date.parse(expiresAt), ms);
  return new Date(end).toISOString();
}

/** Undefined is no expiry. */
function later(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return undefined;
  return Date.parse(one) >= Date.parse(other) ? one : other;
}
