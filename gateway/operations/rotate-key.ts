import { apiKeyState, type ApiKeyRecord } from '../api-keys/api-key-record.ts';
import { StoreRefusal, unlessRefused } from './invalid-operation.ts';
import type { StoredKeys } from './stored-keys.ts';

/** What the new key takes over from the old one. */
type Replacement = Pick<ApiKeyRecord, 'name' | 'plan' | 'minute' | 'day'> & {
  expiresAt: Date | undefined;
  replaces: string;
};

interface RotateKeyDependencies<Issued> extends Pick<StoredKeys, 'show' | 'update'> {
  issue(wanted: Replacement): Promise<Issued>;
  revoke(id: string): Promise<unknown>;
  now: () => number;
}

/** See ApiKeyStore.rotate. */
export async function rotateKey<Issued extends { record: ApiKeyRecord }>(
  id: string,
  graceMs: number,
  { show, update, issue, revoke, now }: RotateKeyDependencies<Issued>,
): Promise<Issued & { old: ApiKeyRecord }> {
  const { record } = await show(id);
  const { name, plan, minute, day, expiresAt, replacedBy } = record;
  assertValid(record, now());
  if (replacedBy !== undefined && (await isValid(replacedBy))) throw replaced(record);
  const ownEnd = expiresAt === undefined ? undefined : new Date(expiresAt);
  const issued = await issue({ name, plan, minute, day, expiresAt: ownEnd, replaces: id });
  try {
    const old = await update(id, 'keys.rotate', (current) => {
      // Somebody else may have been at it since it was first read.
      assertValid(current, now());
      if (current.replacedBy !== replacedBy) throw replaced(current);
      return Promise.resolve({
        ...current,
        expiresAt: earlier(current.expiresAt, now() + graceMs),
        replacedBy: issued.record.id,
      });
    });
    return { ...issued, old };
  } catch (error) {
    // Nobody is told of the new key, so nobody should be able to use it. One that is left over where Redis is gone
    // too is in the audit log.
    await revoke(issued.record.id);
    throw error;
  }

  /** A replacement that was revoked or is gone is none. */
  async function isValid(other: string): Promise<boolean> {
    const found = await unlessRefused(show(other));
    return found !== undefined && apiKeyState(found.record, now()) === 'valid';
  }
}

function assertValid(record: ApiKeyRecord, nowMs: number): void {
  const state = apiKeyState(record, nowMs);
  if (state !== 'valid') throw new StoreRefusal(`the key ${record.id} is ${state}: issue a new one`);
}

function replaced({ id, replacedBy }: ApiKeyRecord): StoreRefusal {
  return new StoreRefusal(`the key ${id} has been replaced by ${replacedBy} already`);
}

function earlier(expiresAt: string | undefined, ms: number): string {
  return expiresAt !== undefined && Date.parse(expiresAt) <= ms ? expiresAt : new Date(ms).toISOString();
}
