import type { ApiKeyStore, ListedApiKey } from '../operations/api-key-store.ts';
import { detectMissingKeys, type IndexInspection } from '../operations/missing-keys.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { printError } from './output.ts';

/** A key that has a record, or may have one. */
export type ExistingKey = Extract<ListedApiKey, { outcome: 'record' | 'invalid' }>;

/** Lists keys as ApiKeyStore.list does. At the end prints to standard error what is wrong with the index. */
export async function* listedKeys(
  store: Pick<ApiKeyStore, 'list'> & IndexInspection,
  after?: string,
  pageSize?: number,
): AsyncGenerator<ExistingKey[]> {
  const counts = { lost: 0, gone: 0 };
  try {
    for await (const page of store.list(after, pageSize)) {
      yield page.flatMap((key) => {
        if (key.outcome === 'record' || key.outcome === 'invalid') return [key];
        counts[key.outcome] += 1;
        return key.outcome === 'lost' ? [lostKey(key.id)] : [];
      });
    }
  } finally {
    if (counts.gone > 0) {
      printError(
        `note: left out ${counts.gone} without a record, such as keys that expired 90 days ago: ` +
          'ops keys reindex removes them from the index',
      );
    }
    const missing = await detectMissingKeys(store);
    if (missing !== undefined) {
      printError(`warning: ${missing}, so keys may be missing here; run ops keys reindex`);
    }
  }
}

function lostKey(id: string): ExistingKey {
  return {
    outcome: 'invalid',
    id,
    issues: [`its hash is missing in ${redisKeys.apiKeyIds}`],
    revoked: false,
    where: redisKeys.apiKeyIds,
  };
}
