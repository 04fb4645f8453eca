import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { addToIndex, indexPages, isListed, keyHashOf, removeFromIndex } from './api-key-index.ts';
import { scanRecords, type ScannedRecord } from './scan-records.ts';
import type { Session } from './session.ts';
import { readStoredKey } from './stored-keys.ts';

export interface ReindexResult {
  /** Number of keys that were missing in gw:key-ids, in gw:keys or in both. */
  added: number;
  /** Number of ids without a record. */
  removed: number;
  /** Redis keys of records without an id, or with the id of another one: the index can't contain them. */
  unusable: string[];
}

const batchSize = 500;

/**
 * Makes gw:key-ids and gw:keys agree with the records, which alone decide on requests. Scans all of Redis. Writes nothing
 * if nothing is wrong.
 */
export async function reindexKeys(session: Session): Promise<ReindexResult> {
  const { redis, audit } = session;
  /** Ids whose records were found where the index says. */
  const indexed = new Set<string>();
  const missing = new Map<string, ScannedRecord>();
  const unusable = new Set<string>();
  const gone = new Set<string>();

  for await (const page of scanRecords(redis)) {
    const states = await Promise.all(page.map(stateOf));
    for (const [position, key] of page.entries()) {
      const state = states[position];
      const other = missing.get(key.id);
      if (state === 'indexed') indexed.add(key.id);
      else if (state === 'unusable' || (other !== undefined && other.keyHash !== key.keyHash)) {
        unusable.add(key.keyHash);
      } else missing.set(key.id, key);
    }
  }
  for await (const page of indexPages(session, undefined, batchSize)) {
    const unknown = page.filter(({ id, settled }) => settled && !indexed.has(id));
    await Promise.all(unknown.map(({ id, keyHash }) => checkId(id, keyHash)));
  }
  for await (const page of scanHashedIds(redis)) {
    const unknown = page.filter(([id]) => !indexed.has(id));
    await Promise.all(
      unknown.map(async ([id, keyHash]) => (await isListed(redis, id)) || checkUnlisted(id, keyHash)),
    );
  }

  const counts = { added: missing.size, removed: gone.size };
  const result = { ...counts, unusable: Array.from(unusable, redisKeys.apiKey) };
  if (result.added + result.removed === 0) return result;
  await audit({ action: 'keys.reindex', target: redisKeys.apiKeysByCreation, before: null, after: counts });
  for (const batch of batches([...missing.values()])) {
    await Promise.all(batch.map(({ keyHash, ...record }) => addToIndex(session, record, keyHash)));
  }
  for (const batch of batches([...gone])) await removeFromIndex(session, await stillGone(batch));
  return result;

  async function stateOf({ id, keyHash }: ScannedRecord): Promise<'indexed' | 'missing' | 'unusable'> {
    if (id === '') return 'unusable';
    const [known, listed] = await Promise.all([keyHashOf(redis, id), isListed(redis, id)]);
    if (known === keyHash) return listed ? 'indexed' : 'missing';
    // If two records have one id, the one in the index keeps it.
    return known !== undefined && !(await isGone(id, known)) ? 'unusable' : 'missing';
  }

  async function checkId(id: string, keyHash: string | undefined): Promise<void> {
    if (missing.has(id)) return;
    if (keyHash === undefined || (await isGone(id, keyHash))) gone.add(id);
  }

  /** An invalid record may lack its id, and must be listed to be revoked. */
  async function checkUnlisted(id: string, keyHash: string): Promise<void> {
    await checkId(id, keyHash);
    if (!missing.has(id) && !gone.has(id)) missing.set(id, { id, keyHash, createdAt: '' });
  }

  async function isGone(id: string, keyHash: string): Promise<boolean> {
    const key = (await readStoredKey(redis, id, keyHash))?.key;
    return key === undefined || (key.outcome === 'record' && key.record.id !== id);
  }

  /** Checks once more, since a key may have been imported since. */
  async function stillGone(ids: readonly string[]): Promise<string[]> {
    const results = await Promise.all(
      ids.map(async (id) => {
        const keyHash = await keyHashOf(redis, id);
        return keyHash === undefined || isGone(id, keyHash);
      }),
    );
    return ids.filter((_id, position) => results[position]);
  }
}

async function* scanHashedIds(redis: RedisClient): AsyncGenerator<[id: string, keyHash: string][]> {
  let cursor = '0';
  do {
    const [next, flat] = await redis.hscan(redisKeys.apiKeyIds, cursor, 'COUNT', batchSize);
    yield Array.from({ length: flat.length / 2 }, (_, position) => [
      flat[2 * position] ?? '',
      flat[2 * position + 1] ?? '',
    ]);
    cursor = next;
  } while (cursor !== '0');
}

function* batches<T>(items: readonly T[]): Generator<T[]> {
  for (let start = 0; start < items.length; start += batchSize) yield items.slice(start, start + batchSize);
}
