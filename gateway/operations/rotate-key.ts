import { apiKeyState, type ApiKeyRecord } from '../api-keys/api-key-record.ts';
import { ignoreInvalid, InvalidOperation } from './invalid-operation.ts';
import type { StoredKeys } from './stored-keys.ts';

/** What the new key takes over from the old one. */
type Replacement = Pick<ApiKeyRecord, 'name' | 'plan' | 'minute' | 'day' | 'trial'> & {
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
  // The new key has counts of its own, which start now.
  const trial = record.trial && { ...record.trial, since: now() };
  assertValid(record, now());
  if (replacedBy !== undefined && (await isValid(replacedBy))) throw alreadyReplaced(record);
  const ownExpiry = expiresAt === undefined ? undefined : new Date(expiresAt);
  const issued = await issue({ name, plan, minute, day, trial, expiresAt: ownExpiry, replaces: id });
  try {
    const old = await update(id, 'keys.rotate', (current) => {
      // Another operator may have changed it since it was first read.
      assertValid(current, now());
      if (current.replacedBy !== replacedBy) throw alreadyReplaced(current);
      return Promise.resolve({
        ...current,
        expiresAt: earlier(current.expiresAt, now() + graceMs),
        replacedBy: issued.record.id,
      });
    });
    return { ...issued, old };
  } catch (error) {
    // Nobody gets the new key, so it must not work. If Redis is unavailable, the audit log has its id.
    await revoke(issued.record.id);
    throw error;
  }

  /** A replacement that was revoked or deleted does not count. */
  async function isValid(other: string): Promise<boolean> {
    const found = await ignoreInvalid(show(other));
    return found !== undefined && apiKeyState(found.record, now()) === 'valid';
  }
}

function assertValid(record: ApiKeyRecord, nowMs: number): void {
  const state = apiKeyState(record, nowMs);
  if (state !== 'valid') throw new InvalidOperation(`the key ${record.id} is ${state}: issue a new one`);
}

function alreadyReplaced({ id, replacedBy }: ApiKeyRecord): InvalidOperation {
  return new InvalidOperation(`the key ${id} has been replaced by ${replacedBy} already`);
}

function earlier(expiresAt: string | undefined, ms: number): string {
  return expiresAt !== undefined && Date.parse(expiresAt) <= ms ? expiresAt : new Date(ms).toISOString();
}
