import type { ApiKeyStore, IssuedApiKey, NewApiKey } from './api-key-store.ts';
import type { ChangingSession } from './session.ts';
import { writeBatch } from './write-batch.ts';

interface IssueBatchDependencies extends Pick<ChangingSession, 'audit' | 'waitUntilDurable'> {
  store: Pick<ApiKeyStore, 'issueForBatch'>;
  /** See writeBatch. */
  stop: AbortSignal;
}

/**
 * Issues keys in their order, as one audit entry. Each has the id of the batch in its record, so that an auditor finds the
 * keys of the file. Check them before with ApiKeyStore.check.
 * @param fileSha256 hexadecimal SHA-256 of the file that the keys come from
 * @returns pages of keys that are on Redis' disk
 */
export async function* issueBatch(
  keys: readonly NewApiKey[],
  fileSha256: string,
  { store, audit, waitUntilDurable, stop }: IssueBatchDependencies,
): AsyncGenerator<IssuedApiKey[]> {
  const source = { action: 'keys.issue-batch', fileSha256, audit, stop } as const;
  for await (const page of writeBatch(keys, store.issueForBatch, source)) {
    await waitUntilDurable();
    yield page;
  }
}
