import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { createApiKeyIndex } from './api-key-index.ts';
import type { RecordChange } from './audit-log.ts';
import { foundKeys, type FoundKey } from './found-keys.ts';
import { createStoredKeys } from './stored-keys.ts';

export interface ReindexResult {
  /** Keys that were missing in gw:key-ids, in gw:keys or in both. */
  added: number;
  /** Ids that no record has any more. */
  removed: number;
  /** Keys in Redis of records without an id, or with the id of another one: the index can't hold them. */
  unusable: string[];
}

interface ReindexDependencies {
  redis: RedisClient;
  audit: RecordChange;
  now: () => number;
}

const batchSize = 500;

/**
 * Makes gw:key-ids and gw:keys say what the records say, which alone decide on requests. Walks through all of Redis.
 * Nothing is written where nothing is wrong.
 */
export async function reindexKeys({ redis, audit, now }: ReindexDependencies): Promise<ReindexResult> {
  const index = createApiKeyIndex({ redis, now });
  const { look } = createStoredKeys({ redis, index, audit });
  /** Ids that need no second look: their records have been found, and are where the index says. */
  const indexed = new Set<string>();
  const missing = new Map<string, FoundKey>();
  const unusable = new Set<string>();
  const gone = new Set<string>();

  for await (const page of foundKeys(redis)) {
    const states = await Promise.all(page.map(stateOf));
    for (const [position, key] of page.entries()) {
      const state = states[position];
      const other = missing.get(key.id);
      if (state === 'indexed') indexed.add(key.id);
      else if (state === 'unusable' || (other !== undefined && other.sha !== key.sha)) unusable.add(key.sha);
      else missing.set(key.id, key);
    }
  }
  for await (const page of index.pages(undefined, batchSize)) {
    const unknown = page.filter(({ id, settled }) => settled && !indexed.has(id));
    await Promise.all(unknown.map(({ id, sha }) => checkId(id, sha)));
  }
  for await (const page of hashedIds(redis)) {
    const unknown = page.filter(([id]) => !indexed.has(id));
    await Promise.all(unknown.map(async ([id, sha]) => (await index.isListed(id)) || checkUnlisted(id, sha)));
  }

  const counts = { added: missing.size, removed: gone.size };
  const result = { ...counts, unusable: Array.from(unusable, redisKeys.apiKey) };
  if (result.added + result.removed === 0) return result;
  await audit({ action: 'keys.reindex', target: redisKeys.apiKeysByCreation, before: null, after: counts });
  for (const batch of batches([...missing.values()]))
    await Promise.all(batch.map(({ sha, ...record }) => index.add(record, sha)));
  for (const batch of batches([...gone])) await index.forget(await stillGone(batch));
  return result;

  async function stateOf({ id, sha }: FoundKey): Promise<'indexed' | 'missing' | 'unusable'> {
    if (id === '') return 'unusable';
    const [known, listed] = await Promise.all([index.shaOf(id), index.isListed(id)]);
    if (known === sha) return listed ? 'indexed' : 'missing';
    // Of two records with one id, the one that is known by it keeps it.
    return known !== undefined && !(await isGone(id, known)) ? 'unusable' : 'missing';
  }

  async function checkId(id: string, sha: string | undefined): Promise<void> {
    if (missing.has(id)) return;
    if (sha === undefined || (await isGone(id, sha))) gone.add(id);
  }

  /** A record that can't be read may not tell its id; it must be listed to be revoked. */
  async function checkUnlisted(id: string, sha: string): Promise<void> {
    await checkId(id, sha);
    if (!missing.has(id) && !gone.has(id)) missing.set(id, { id, sha, createdAt: '' });
  }

  async function isGone(id: string, sha: string): Promise<boolean> {
    const key = (await look(id, sha))?.key;
    return key === undefined || (key.outcome === 'record' && key.record.id !== id);
  }

  /** Once more, since a key may have been imported meanwhile. */
  async function stillGone(ids: readonly string[]): Promise<string[]> {
    const answers = await Promise.all(
      ids.map(async (id) => {
        const sha = await index.shaOf(id);
        return sha === undefined || isGone(id, sha);
      }),
    );
    return ids.filter((_id, position) => answers[position]);
  }
}

async function* hashedIds(redis: RedisClient): AsyncGenerator<[id: string, sha: string][]> {
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
