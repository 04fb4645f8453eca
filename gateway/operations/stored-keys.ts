import { formatApiKeyRecord, recordExpiry, type ApiKeyRecord } from '../api-keys/api-key-record.ts';
import { formatCustomerLimits, type CustomerRecord } from '../api-keys/customer-record.ts';
import { notHash, readApiKey } from '../api-keys/read-api-key.ts';
import type { AuditAction } from '../redis/audit-actions.ts';
import { createHashReader } from '../redis/hash-reader.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isCustomerId, redisKeys, type CustomerId, type KeyPlace } from '../redis/redis-keys.ts';
import { placeOf, placeOfHash, placesOf } from './api-key-index.ts';
import { IssueForOperators, UnknownKey } from './invalid-operation.ts';
import { OvertakenChange } from './overtaken-change.ts';
import { recordChangeCall } from './record-change-call.ts';
import type { Session } from './session.ts';

/** A key as it is in Redis: its record, or the issues of a record that was edited by hand. */
export type StoredApiKey =
  | {
      outcome: 'record';
      record: ApiKeyRecord;
      customer: CustomerRecord;
    }
  | {
      outcome: 'invalid';
      id: string;
      issues: string[];
      revoked: boolean;
      /** Redis key of the record that is invalid: the key's, or its customer's. */
      where: string;
    };

/** Maximum number of attempts at a change while others change the same key. */
export const maxAttempts = 5;

/** @param id of a key or of a customer */
export function tooManyChanges(id: string): OvertakenChange {
  const what = isCustomerId(id) ? 'customer' : 'key';
  return new OvertakenChange(`the ${what} ${id} keeps being changed by others; try again`);
}

/**
 * Reads a record, also if it was edited by hand.
 * @returns undefined if there is no record; an empty rev if it, or that of the customer, is not a hash any more
 */
export async function readStoredKey(
  redis: RedisClient,
  id: string,
  place: KeyPlace,
): Promise<{ rev: string; key: StoredApiKey } | undefined> {
  const read = await readApiKey(createHashReader(redis), place);
  const { rev = '' } = read;
  if (read.outcome === 'absent') return undefined;
  if (read.outcome === 'record') {
    const { record, customer } = read;
    return { rev, key: { outcome: 'record', record, customer } };
  }
  const { issues: ofKey, customerIssues: ofCustomer, revoked } = read;
  const [keyAt, customerAt] = [redisKeys.apiKey(place), redisKeys.customer(place.customerId)];
  const issues = [...nameLost(keyAt, ofKey), ...nameLost(customerAt, ofCustomer)];
  const where = ofKey.length > 0 ? keyAt : customerAt;
  const key: StoredApiKey = { outcome: 'invalid', id, issues, revoked, where };
  return { rev: ofKey.includes(notHash) ? '' : rev, key };
}

/** A key of a customer, with its record. */
export interface KeyOfCustomer {
  id: string;
  place: KeyPlace;
  key: StoredApiKey;
}

/** The keys of a customer that have a record. @param ids of the set of its keys, which has those of deleted ones, too */
export async function readKeysOf(
  redis: RedisClient,
  customer: CustomerId,
  ids: readonly string[],
): Promise<KeyOfCustomer[]> {
  const places = await placesOf(redis, ids);
  const found = await Promise.all(
    ids.map(async (id, index) => {
      const place = places[index];
      if (place?.customerId !== customer) return [];
      const key = (await readStoredKey(redis, id, place))?.key;
      return key === undefined ? [] : [{ id, place, key }];
    }),
  );
  return found.flat();
}

/** Reads the record of an API key by its hash. */
export async function readKeyOfHash(redis: RedisClient, keyHash: string): Promise<StoredApiKey | undefined> {
  const place = await placeOfHash(redis, keyHash);
  return place && (await readStoredKey(redis, '', place))?.key;
}

/** Issues that tell what to delete. */
function nameLost(where: string, issues: readonly string[]): string[] {
  return issues.map((issue) => (issue === notHash ? `${where} ${issue}` : issue));
}

/** Finds a record by the id of its key. @throws InvalidOperation if there is no such key */
export async function findStoredKey(
  redis: RedisClient,
  id: string,
): Promise<{ place: KeyPlace; rev: string; key: StoredApiKey }> {
  const place = await placeOf(redis, id);
  const found = place === undefined ? undefined : await readStoredKey(redis, id, place);
  if (place === undefined || found === undefined) {
    throw new UnknownKey(id);
  }
  return { place, ...found };
}

/** @throws InvalidOperation if there is no such key, or its record is invalid */
export async function showStoredKey(
  redis: RedisClient,
  id: string,
): Promise<{ place: KeyPlace; record: ApiKeyRecord }> {
  const { place, key } = await findStoredKey(redis, id);
  if (key.outcome === 'record') return { place, record: key.record };
  throw new IssueForOperators(`the record ${key.where} is invalid: ${key.issues.join('; ')}`);
}

/**
 * Reads, edits, and writes if nobody wrote in between; otherwise starts again. What limits the key is its customer's. Audited.
 * @throws InvalidOperation as showStoredKey does, and what `edit` throws
 */
export async function updateStoredKey(
  { redis, audit }: Pick<Session, 'redis' | 'audit'>,
  id: string,
  action: AuditAction,
  edit: (record: ApiKeyRecord) => Promise<ApiKeyRecord>,
): Promise<ApiKeyRecord> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const { place, record: before } = await showStoredKey(redis, id);
    const edited = await edit(before);
    const { rev: _unknownYet, ...after } = edited;
    const rev = await audit.make([{ action, target: id, before, after }], {
      script: 'changeRecordAudited',
      ...recordChangeCall({
        customerId: place.customerId,
        rev: before.rev,
        customer: formatCustomerLimits(edited),
        key: {
          keyHash: place.keyHash,
          fields: formatApiKeyRecord(edited),
          expiry: recordExpiry(edited),
        },
      }),
    });
    if (rev) return { ...edited, rev };
  }
  throw tooManyChanges(id);
}
