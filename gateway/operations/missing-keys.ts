import { setTimeout as sleep } from 'node:timers/promises';
import { redisKeys } from '../redis/redis-keys.ts';
import type { ApiKeyStore } from './api-key-store.ts';

export type IndexInspection = Pick<ApiKeyStore, 'indexSizes' | 'findUnindexed'>;

/** Longer than a key that is being issued or imported is in only one part of the index. */
const issueMs = 250;

/**
 * Detects that the index lacks keys.
 * @param sample whether to look at some records even if the index is not empty
 * @returns a description; undefined if nothing is missing
 */
export async function detectMissingKeys(store: IndexInspection, sample = false): Promise<string | undefined> {
  if ((await compareIndex(store, sample)) === undefined) return undefined;
  await sleep(issueMs);
  return compareIndex(store, sample);
}

async function compareIndex(store: IndexInspection, sample: boolean): Promise<string | undefined> {
  const { apiKeysByCreation, apiKeyIds } = redisKeys;
  const { listed, hashed } = await store.indexSizes();
  if (listed !== hashed) return `${apiKeysByCreation} has ${listed} ids and ${apiKeyIds} has ${hashed}`;
  const unindexed = sample || listed === 0 ? await store.findUnindexed() : undefined;
  return unindexed === undefined ? undefined : `${apiKeyIds} lacks ${unindexed}, whose record exists`;
}
