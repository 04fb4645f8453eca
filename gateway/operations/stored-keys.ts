import {
  formatApiKeyRecord,
  keptSeconds,
  parseApiKeyRecord,
  recordExpiry,
  type ApiKeyRecord,
} from '../api-keys/api-key-record.ts';
import type { AuditAction } from '../redis/audit-actions.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { indexSizes, isListed, keyHashOf } from './api-key-index.ts';
import { InvalidOperation } from './invalid-operation.ts';
import type { Session } from './session.ts';
import { UnknownKey } from './unknown-key.ts';

/** A key as it is in Redis: its record, or the issues of a record that was edited by hand. */
export type StoredApiKey =
  | {
      outcome: 'record';
      record: ApiKeyRecord;
      /** As ParsedRecord has them. */
      issues?: string[];
    }
  | { outcome: 'invalid'; id: string; issues: string[]; revoked: boolean };

/** Maximum number of attempts at a change while others change the same key. */
export const maxAttempts = 5;

export function tooManyChanges(id: string): Error {
  return new Error(`the key ${id} keeps being changed by others; try again`);
}

async function readFields(
  redis: RedisClient,
  keyHash: string,
): Promise<{ rev: string; fields: Record<string, string> | 'no hash' }> {
  try {
    const fields = await redis.hgetall(redisKeys.apiKey(keyHash));
    return { rev: fields['rev'] ?? '0', fields };
  } catch (error) {
    if (isWrongType(error)) return { rev: '', fields: 'no hash' };
    throw error;
  }
}

/**
 * Reads a record, also if it was edited by hand.
 * @returns undefined if there is no record; an empty rev if it is not a hash any more
 */
export async function readStoredKey(
  redis: RedisClient,
  id: string,
  keyHash: string,
): Promise<{ rev: string; key: StoredApiKey } | undefined> {
  const { rev, fields } = await readFields(redis, keyHash);
  if (fields === 'no hash') {
    const issues = [`${redisKeys.apiKey(keyHash)} is no longer a hash: delete it`];
    return { rev, key: { outcome: 'invalid', id, issues, revoked: false } };
  }
  const parsed = parseApiKeyRecord(fields);
  if (parsed.outcome === 'absent') return undefined;
  return { rev, key: parsed.outcome === 'invalid' ? { ...parsed, id } : parsed };
}

/** Finds a record by the id of its key. @throws InvalidOperation if there is no such key */
export async function findStoredKey(
  redis: RedisClient,
  id: string,
): Promise<{ keyHash: string; rev: string; key: StoredApiKey }> {
  const keyHash = await keyHashOf(redis, id);
  if (keyHash === undefined && (await isListed(redis, id))) {
    throw new InvalidOperation(
      `${redisKeys.apiKeyIds} has no hash for ${id}, which is in ${redisKeys.apiKeysByCreation}: ` +
        'ops keys reindex finds it',
    );
  }
  const found = keyHash === undefined ? undefined : await readStoredKey(redis, id, keyHash);
  if (keyHash === undefined || found === undefined) {
    const { hashed } = await indexSizes(redis);
    const hint =
      hashed === 0 ? `, and ${redisKeys.apiKeyIds} has no ids at all: ops keys reindex finds all keys` : '';
    throw new UnknownKey(id, hint);
  }
  return { keyHash, ...found };
}

/** @throws InvalidOperation if there is no such key, or its record is invalid */
export async function showStoredKey(
  redis: RedisClient,
  id: string,
): Promise<{ keyHash: string; record: ApiKeyRecord }> {
  const { keyHash, key } = await findStoredKey(redis, id);
  if (key.outcome === 'record') return { keyHash, record: key.record };
  throw new InvalidOperation(`the record ${redisKeys.apiKey(keyHash)} is invalid: ${key.issues.join('; ')}`);
}

/**
 * Reads, edits, and writes if nobody wrote in between; otherwise starts again. Audited.
 * @throws InvalidOperation as showStoredKey does, and what `edit` throws
 */
export async function updateStoredKey(
  { redis, audit }: Pick<Session, 'redis' | 'audit'>,
  id: string,
  action: AuditAction,
  edit: (record: ApiKeyRecord) => Promise<ApiKeyRecord>,
): Promise<ApiKeyRecord> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const { keyHash, record: before } = await showStoredKey(redis, id);
    const edited = await edit(before);
    const { rev: _unknownYet, ...after } = edited;
    const rev = await audit.make([{ action, target: id, before, after }], {
      script: 'changeRecordAudited',
      keys: [redisKeys.apiKey(keyHash)],
      args: [before.rev, recordExpiry(edited), keptSeconds, ...formatApiKeyRecord(edited)],
    });
    if (rev) return { ...edited, rev };
  }
  throw tooManyChanges(id);
}
