import { createApiKeyStore, type ApiKeyStore } from './api-key-store.ts';
import { keyView } from './key-view.ts';
import type { ChangingSession } from './session.ts';
import { findStoredKey } from './stored-keys.ts';
import { writeBatch, type BatchSource } from './write-batch.ts';

interface RevokeBatchDependencies extends Pick<ChangingSession, 'audit' | 'waitUntilDurable'> {
  store: Pick<ApiKeyStore, 'revoke'>;
  stop?: AbortSignal;
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

/** Numbers of keys that were revoked now, and that were before. */
export interface RevokedKeys {
  revoked: number;
  alreadyRevoked: number;
}

/**
 * Revokes keys that a person has selected, as a batch.
 * @throws InvalidOperation if one of them does not exist: none is revoked then
 */
export async function revokeSelected(session: ChangingSession, ids: readonly string[]): Promise<RevokedKeys> {
  const { redis, now } = session;
  const stored = await Promise.all([...new Set(ids)].map((id) => findStoredKey(redis, id)));
  const found = stored.map(({ key }) => keyView(key, now()));
  const keys = found.filter(({ state }) => state !== 'revoked');
  let revoked = 0;
  if (keys.length > 0) {
    const dependencies = { store: createApiKeyStore(session), ...session };
    for await (const count of revokeBatch(keys, {}, dependencies)) revoked += count;
  }
  return { revoked, alreadyRevoked: found.length - keys.length };
}
