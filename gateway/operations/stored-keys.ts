import {
  formatApiKeyRecord,
  readApiKey,
  recordExpiry,
  type ApiKeyRecord,
  type StoredApiKey,
} from '../api-keys/api-key-record.ts';
import { formatCustomerLimits } from '../api-keys/customer-record.ts';
import type { AuditAction } from '../redis/audit-actions.ts';
import { createHashReader } from '../redis/hash-reader.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isCustomerId, type CustomerId, type KeyPlace } from '../redis/redis-keys.ts';
import { placeOf, placeOfHash, placesOf } from './api-key-index.ts';
import { UnknownKey } from './invalid-operation.ts';
import { OvertakenChange } from './overtaken-change.ts';
import { recordChangeCall } from './record-change-call.ts';
import type { Session } from './session.ts';

/** A key as it is in Redis, and where. */
export interface PlacedKey extends StoredApiKey {
  place: KeyPlace;
}

/** Maximum number of attempts at a change while others change the same key. */
export const maxAttempts = 5;

/** @param id of a key or of a customer */
export function tooManyChanges(id: string): OvertakenChange {
  const what = isCustomerId(id) ? 'customer' : 'key';
  return new OvertakenChange(`the ${what} ${id} keeps being changed by others; try again`);
}

/** Reads a key. @returns undefined if there is no record @throws UnexpectedValue as readApiKey does */
export async function readStoredKey(redis: RedisClient, place: KeyPlace): Promise<PlacedKey | undefined> {
  const key = await readApiKey(createHashReader(redis), place);
  return key && { ...key, place };
}

/** The keys of a customer that have a record. @param ids of the set of its keys, which has those of deleted ones, too */
export async function readKeysOf(
  redis: RedisClient,
  customer: CustomerId,
  ids: readonly string[],
): Promise<PlacedKey[]> {
  const places = await placesOf(redis, ids);
  const found = await Promise.all(
    places.map(async (place) => (place?.customerId === customer ? readStoredKey(redis, place) : undefined)),
  );
  return found.filter((key) => key !== undefined);
}

/** Reads an API key by its hash. */
export async function readKeyOfHash(redis: RedisClient, keyHash: string): Promise<PlacedKey | undefined> {
  const place = await placeOfHash(redis, keyHash);
  return place && readStoredKey(redis, place);
}

/** Reads a key by its id. */
export async function findStoredKey(redis: RedisClient, id: string): Promise<PlacedKey | undefined> {
  const place = await placeOf(redis, id);
  return place && readStoredKey(redis, place);
}

/** The same. @throws UnknownKey if there is no such key */
export async function showStoredKey(redis: RedisClient, id: string): Promise<PlacedKey> {
  const key = await findStoredKey(redis, id);
  if (key === undefined) throw new UnknownKey(id);
  return key;
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
