import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiKeyStore, ListedApiKey } from '../operations/api-key-store.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { writeFault } from './output.ts';

/** A key that can be shown: one whose record is there, or may be. */
export type ShownKey = Extract<ListedApiKey, { outcome: 'record' | 'broken' }>;

/** All keys as ApiKeyStore.list has them, and at the end on standard error what is wrong with the index. */
export async function* listedKeys(
  store: Pick<ApiKeyStore, 'list'> & IndexLooks,
  after?: string,
  pageSize?: number,
): AsyncGenerator<ShownKey[]> {
  const counts = { lost: 0, gone: 0 };
  try {
    for await (const page of store.list(after, pageSize)) {
      yield page.flatMap((key) => {
        if (key.outcome === 'record' || key.outcome === 'broken') return [key];
        counts[key.outcome] += 1;
        return key.outcome === 'lost' ? [lostKey(key.id)] : [];
      });
    }
  } finally {
    if (counts.gone > 0) {
      writeFault(
        `note: left out ${counts.gone} without a record, such as keys that ended 90 days ago: ` +
          'ops keys reindex forgets them',
      );
    }
    const missing = await whatIsMissing(store);
    if (missing !== undefined)
      writeFault(`warning: ${missing}, so keys may be missing here: ops keys reindex finds them`);
  }
}

function lostKey(id: string): ShownKey {
  return { outcome: 'broken', id, faults: [`its hash is missing in ${redisKeys.apiKeyIds}`], revoked: false };
}

/** Longer than a key that is being issued or imported is in one half of the index only, or in none. */
const issueMs = 250;

type IndexLooks = Pick<ApiKeyStore, 'indexSizes' | 'findUnindexed'>;

/**
 * What tells that the index lacks keys; undefined where nothing does.
 * @param sample whether to look at some of the records, and not only where the index is empty
 */
export async function whatIsMissing(store: IndexLooks, sample = false): Promise<string | undefined> {
  if ((await differenceNow(store, sample)) === undefined) return undefined;
  await sleep(issueMs);
  return differenceNow(store, sample);
}

async function differenceNow(store: IndexLooks, sample: boolean): Promise<string | undefined> {
  const { apiKeysByCreation, apiKeyIds } = redisKeys;
  const { listed, hashed } = await store.indexSizes();
  if (listed !== hashed) return `${apiKeysByCreation} has ${listed} ids and ${apiKeyIds} has ${hashed}`;
  const unindexed = sample || listed === 0 ? await store.findUnindexed() : undefined;
  return unindexed === undefined
    ? undefined
    : `${apiKeyIds} does not know ${unindexed}, whose record is there`;
}
