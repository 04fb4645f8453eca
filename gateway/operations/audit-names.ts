import type { AuditEntry } from './audit-log.ts';
import { ignoreInvalid } from './invalid-operation.ts';
import type { Session } from './session.ts';
import { findStoredKey } from './stored-keys.ts';

/** An entry about a key with what people know the key by. Null for other entries, and if nothing is known any more. */
export interface NamedEntry extends AuditEntry {
  /** Name of the customer as it is now. */
  targetName: string | null;
  targetHint: string | null;
}

/** Adds names and hints. Each key is read once; of one that is gone, the entry itself has the name. */
export async function nameTargets(
  entries: readonly AuditEntry[],
  { redis }: Pick<Session, 'redis'>,
): Promise<NamedEntry[]> {
  const ids = [...new Set(entries.map(({ target }) => target).filter((target) => target.startsWith('key_')))];
  const found = await Promise.all(ids.map((id) => ignoreInvalid(findStoredKey(redis, id))));
  const records = new Map(
    ids.map((id, index) => {
      const key = found[index]?.key;
      return [id, key?.outcome === 'record' ? key.record : undefined];
    }),
  );
  return entries.map((entry) => {
    const known = records.get(entry.target);
    const [name, hint] = ['name', 'hint'].map((field) => recorded(entry, field));
    const isKey = entry.target.startsWith('key_');
    return Object.assign({}, entry, {
      targetName: isKey ? (known?.name ?? name ?? null) : null,
      targetHint: isKey ? (known?.hint ?? hint ?? null) : null,
    });
  });
}

function recorded({ before, after }: AuditEntry, field: string): string | undefined {
  for (const value of [after, before]) {
    const text = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    const found = text.find(([name]) => name === field)?.[1] as unknown;
    if (typeof found === 'string') return found;
  }
  return undefined;
}
