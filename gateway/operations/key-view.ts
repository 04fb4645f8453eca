import { apiKeyState, type ApiKeyRecord } from '../api-keys/api-key-record.ts';
import { limitsIn, type SomeLimits } from '../limits/limits.ts';
import { forRequired, type ByRequiredWindow } from '../limits/windows.ts';
import type { StoredApiKey } from './stored-keys.ts';

/** Limits as JSON shows them: null for a required window without one, and nothing for another. */
export function limitsView(limits: SomeLimits): ByRequiredWindow<number | null> {
  return { ...forRequired(null), ...limitsIn(limits) };
}

/** A record as operators see it. Every field is present, with null for what a key does not have. */
export function recordView(record: ApiKeyRecord, nowMs: number) {
  const { id, name, plan, hint, createdAt, expiresAt, revokedAt, replaces, replacedBy, rev } = record;
  return {
    id,
    plan,
    name,
    hint,
    ...limitsView(record),
    state: apiKeyState(record, nowMs),
    createdAt,
    expiresAt: expiresAt ?? null,
    revokedAt: revokedAt ?? null,
    replaces: replaces ?? null,
    replacedBy: replacedBy ?? null,
    batch: record.batch ?? null,
    rev,
  };
}

/** The same for any stored key. One with an invalid record has the same shape, since it can still be revoked. */
export function keyView(key: StoredApiKey, nowMs: number) {
  if (key.outcome === 'record') return recordView(key.record, nowMs);
  return {
    ...recordView({ id: key.id, plan: '', name: '', hint: '', createdAt: '', rev: 0 }, nowMs),
    name: `unusable: ${key.issues.join('; ')}`,
    state: key.revoked ? ('revoked' as const) : ('unusable' as const),
  };
}
