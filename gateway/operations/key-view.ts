import { apiKeyState, type ApiKeyRecord } from '../api-keys/api-key-record.ts';
import type { StoredApiKey } from './stored-keys.ts';

/** A record as every command prints it: each field in each answer, null for what a key does not have. */
export function shownRecord(record: ApiKeyRecord, nowMs: number) {
  const { id, name, plan, hint, createdAt, expiresAt, minute, day, revokedAt, replaces, replacedBy, rev } =
    record;
  return {
    id,
    plan,
    name,
    hint,
    minute: minute ?? null,
    day: day ?? null,
    state: apiKeyState(record, nowMs),
    createdAt,
    expiresAt: expiresAt ?? null,
    revokedAt: revokedAt ?? null,
    replaces: replaces ?? null,
    replacedBy: replacedBy ?? null,
    rev,
  };
}

/** A record that can't be read is shown too, in the same shape: it may still be refused or revoked. */
export function shownKey(key: StoredApiKey, nowMs: number) {
  if (key.outcome === 'record') return shownRecord(key.record, nowMs);
  return {
    ...shownRecord({ id: key.id, plan: '', name: '', hint: '', createdAt: '', rev: 0 }, nowMs),
    name: `unusable: ${key.faults.join('; ')}`,
    state: key.revoked ? ('revoked' as const) : ('unusable' as const),
  };
}
