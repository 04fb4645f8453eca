import type { ApiKeyStore } from './api-key-store.ts';
import type { ChangingSession } from './session.ts';
import { writeBatch, type BatchSource } from './write-batch.ts';

interface RevokeBatchDependencies extends Pick<ChangingSession, 'audit' | 'waitUntilDurable'> {
  store: Pick<ApiKeyStore, 'revoke'>;
  stop: AbortSignal;
}

/**
 * Revokes keys in their order. The batch has an audit entry, and so has each key. A key that was revoked before is left as it
 * is, so that a batch which ended early can be run again.
 * @param source which list or filter the keys come from
 * @returns the number of keys that are revoked on Redis' disk, page by page
 */
export async function* revokeBatch(
  keys: readonly { id: string; plan: string }[],
  source: Pick<BatchSource, 'fileSha256' | 'filter'>,
  { store, audit, waitUntilDurable, stop }: RevokeBatchDependencies,
): AsyncGenerator<number> {
  const batch = { action: 'keys.revoke-batch', ...source, audit, stop } as const;
  for await (const page of writeBatch(keys, ({ id }) => store.revoke(id), batch)) {
    await waitUntilDurable();
    yield page.length;
  }
}
