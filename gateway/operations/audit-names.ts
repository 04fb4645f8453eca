import type { AuditEntry } from './audit-log.ts';
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
  const records = new Map(
    await Promise.all(ids.map(async (id) => [id, (await findStoredKey(redis, id))?.record] as const)),
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

/** A field that a change has changed. Undefined if the record or setting did not have it. */
export interface ChangedField {
  field: string;
  before: unknown;
  after: unknown;
}

/** Fields of an entry of the audit log that differ before and after it. Without `rev`, which every change raises. */
export function changedFields(before: unknown, after: unknown): ChangedField[] {
  const [from, to] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])].filter((name) => name !== 'rev');
  return names
    .filter((name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]))
    .map((name) => ({ field: name, before: from[name], after: to[name] }));
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
