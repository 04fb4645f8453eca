import {
  formatApiKeyRecord,
  readApiKey,
  recordExpiry,
  type ApiKeyRecord,
  type StoredApiKey,
} from '../../keys/api-key-record.ts';
import type { AuditAction } from '../../platform/redis/audit-actions.ts';
import { createHashReader } from '../../platform/redis/hash-reader.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { isCustomerId, redisKeys, type KeyPlace } from '../../platform/redis/redis-keys.ts';
import { scoredPages } from '../bans/scored-pages.ts';
import { UnknownKey } from '../invalid-operation.ts';
import { OvertakenChange } from '../overtaken-change.ts';
import { recordChangeCall } from '../record-change-call.ts';
import type { Session } from '../session.ts';
import { placeOf, placeOfHash, placesOf } from './api-key-index.ts';

/** A key as it is in Redis, and where. */
export interface PlacedKey extends StoredApiKey {
  place: KeyPlace;
}

const maxAttempts = 5;

/**
 * Tries a change until nobody else changes the same in between.
 * @param id of a key or of a customer
 * @param change returns undefined if another change came first
 * @throws OvertakenChange if others keep changing it
 */
export async function retryOvertaken<T>(id: string, change: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const changed = await change();
    if (changed !== undefined) return changed;
  }
  const what = isCustomerId(id) ? 'customer' : 'key';
  throw new OvertakenChange(`the ${what} ${id} keeps being changed by others; try again`);
}

/** Reads a key. @returns undefined if there is no record @throws UnexpectedValue as readApiKey does */
export async function readStoredKey(redis: RedisClient, place: KeyPlace): Promise<PlacedKey | undefined> {
  const key = await readApiKey(createHashReader(redis), place);
  return key && { ...key, place };
}

/** Reads keys by their ids. Leaves out those without a record: they are being issued, or ended more than 90 days ago. */
export async function readStoredKeys(redis: RedisClient, ids: readonly string[]): Promise<PlacedKey[]> {
  const places = await placesOf(redis, ids);
  const found = await Promise.all(places.map(async (place) => place && readStoredKey(redis, place)));
  return found.filter((key) => key !== undefined);
}

const pageSize = 500;

/** All keys by time of creation, in pages. */
export async function* storedKeyPages(redis: RedisClient): AsyncGenerator<PlacedKey[]> {
  const pages = { key: redisKeys.apiKeysByCreation, order: 'ascending', size: pageSize } as const;
  for await (const page of scoredPages(redis, pages)) {
    yield readStoredKeys(
      redis,
      page.map(({ member }) => member),
    );
  }
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
 * Reads, edits what the key has of its own, and writes if nobody wrote in between; otherwise starts again. Audited.
 * @throws InvalidOperation as showStoredKey does, and what `edit` throws
 */
export function updateStoredKey(
  { redis, audit }: Pick<Session, 'redis' | 'audit'>,
  id: string,
  action: AuditAction,
  edit: (record: ApiKeyRecord) => ApiKeyRecord | Promise<ApiKeyRecord>,
): Promise<ApiKeyRecord> {
  return retryOvertaken(id, async () => {
    const { place, record: before } = await showStoredKey(redis, id);
    const edited = await edit(before);
    const { rev: _unknownYet, ...after } = edited;
    const rev = await audit.make([{ action, target: id, before, after }], {
      script: 'changeRecordAudited',
      ...recordChangeCall({
        customerId: place.customerId,
        rev: before.rev,
        key: {
          keyHash: place.keyHash,
          fields: formatApiKeyRecord(edited),
          expiry: recordExpiry(edited),
        },
      }),
    });
    return rev ? { ...edited, rev } : undefined;
  });
}
