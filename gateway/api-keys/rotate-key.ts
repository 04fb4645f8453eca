import { type ApiKeyRecord, apiKeyState } from './api-key-record.ts';
import type { ApiKeyStore, IssuedApiKey, NewApiKey } from './api-key-store.ts';
import { StoreRefusal } from './store-refusal.ts';
import type { StoredKeys } from './stored-keys.ts';

interface RotateKeyDependencies extends Pick<StoredKeys, 'show' | 'update'> {
  issue(wanted: NewApiKey & { replaces: string }): Promise<IssuedApiKey>;
  revoke: ApiKeyStore['revoke'];
  now: () => number;
}

/** See ApiKeyStore.rotate. */
export async function rotateKey(
  id: string,
  graceMs: number,
  { show, update, issue, revoke, now }: RotateKeyDependencies,
): Promise<IssuedApiKey & { old: ApiKeyRecord }> {
  const { record } = await show(id);
  assertReplaceable(record, now());
  const { name, plan, minute, day, expiresAt } = record;
  const ownEnd = expiresAt === undefined ? undefined : new Date(expiresAt);
  const issued = await issue({ name, plan, minute, day, expiresAt: ownEnd, replaces: id });
  try {
    const old = await update(id, 'keys.rotate', (current) => {
      // Somebody else may have been at it since it was first read.
      assertReplaceable(current, now());
      return Promise.resolve({
        ...current,
        expiresAt: earlier(current.expiresAt, now() + graceMs),
        replacedBy: issued.record.id,
      });
    });
    return { ...issued, old };
  } catch (error) {
    // Nobody is told of the new key, so nobody should be able to use it.
    await revoke(issued.record.id);
    throw error;
  }
}

function assertReplaceable(record: ApiKeyRecord, nowMs: number): void {
  const state = apiKeyState(record, nowMs);
  if (state !== 'valid') throw new StoreRefusal(`the key ${record.id} is ${state}: issue a new one`);
  if (record.replacedBy !== undefined) {
    throw new StoreRefusal(`the key ${record.id} has been replaced by ${record.replacedBy} already`);
  }
}

function earlier(expiresAt: string | undefined, ms: number): string {
  return expiresAt !== undefined && Date.parse(expiresAt) <= ms ? expiresAt : new Date(ms).toISOString();
}
