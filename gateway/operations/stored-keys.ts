import {
  formatApiKeyRecord,
  keptSeconds,
  parseApiKeyRecord,
  recordExpiry,
  type ApiKeyRecord,
} from '../api-keys/api-key-record.ts';
import type { AuditAction } from '../redis/audit-actions.ts';
import type { AuditLog } from '../redis/record-change.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import type { ApiKeyIndex } from './api-key-index.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { UnknownKey } from './unknown-key.ts';

/** A key as it is in Redis: its record, or the issues of a record that was edited by hand. */
export type StoredApiKey =
  | { outcome: 'record'; record: ApiKeyRecord }
  | { outcome: 'invalid'; id: string; issues: string[]; revoked: boolean };

export interface StoredKeys {
  /** @returns undefined if there is no record; an empty rev if it is not a hash any more */
  look(id: string, keyHash: string): Promise<{ rev: string; key: StoredApiKey } | undefined>;
  /** @throws InvalidOperation if there is no such key */
  find(id: string): Promise<{ keyHash: string; rev: string; key: StoredApiKey }>;
  /** @throws InvalidOperation if there is no such key, or its record is invalid */
  show(id: string): Promise<{ keyHash: string; record: ApiKeyRecord }>;
  /**
   * Reads, edits, and writes if nobody wrote in between; otherwise starts again. Audited.
   * @throws InvalidOperation as `show` does, and what `edit` throws
   */
  update(
    id: string,
    action: AuditAction,
    edit: (record: ApiKeyRecord) => Promise<ApiKeyRecord>,
  ): Promise<ApiKeyRecord>;
}

/** Maximum number of attempts at a change while others change the same key. */
export const maxAttempts = 5;

export function tooManyChanges(id: string): Error {
  return new Error(`the key ${id} keeps being changed by others; try again`);
}

interface StoredKeysDependencies {
  redis: RedisClient;
  index: Pick<ApiKeyIndex, 'keyHashOf' | 'isListed' | 'sizes'>;
  audit: AuditLog;
}

/** Reads and changes records by the id of their key, also if they were edited by hand. */
export function createStoredKeys({ redis, index, audit }: StoredKeysDependencies): StoredKeys {
  async function readFields(
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

  async function look(id: string, keyHash: string): Promise<{ rev: string; key: StoredApiKey } | undefined> {
    const { rev, fields } = await readFields(keyHash);
    if (fields === 'no hash') {
      const issues = [`${redisKeys.apiKey(keyHash)} is no longer a hash: delete it`];
      return { rev, key: { outcome: 'invalid', id, issues, revoked: false } };
    }
    const parsed = parseApiKeyRecord(fields);
    if (parsed.outcome === 'absent') return undefined;
    return { rev, key: parsed.outcome === 'invalid' ? { ...parsed, id } : parsed };
  }

  async function find(id: string): Promise<{ keyHash: string; rev: string; key: StoredApiKey }> {
    const keyHash = await index.keyHashOf(id);
    if (keyHash === undefined && (await index.isListed(id))) {
      throw new InvalidOperation(
        `${redisKeys.apiKeyIds} has no hash for ${id}, which is in ${redisKeys.apiKeysByCreation}: ` +
          'ops keys reindex finds it',
      );
    }
    const found = keyHash === undefined ? undefined : await look(id, keyHash);
    if (keyHash === undefined || found === undefined) {
      const { hashed } = await index.sizes();
      const hint =
        hashed === 0 ? `, and ${redisKeys.apiKeyIds} has no ids at all: ops keys reindex finds all keys` : '';
      throw new UnknownKey(id, hint);
    }
    return { keyHash, ...found };
  }

  async function show(id: string): Promise<{ keyHash: string; record: ApiKeyRecord }> {
    const { keyHash, key } = await find(id);
    if (key.outcome === 'record') return { keyHash, record: key.record };
    throw new InvalidOperation(
      `the record ${redisKeys.apiKey(keyHash)} is invalid: ${key.issues.join('; ')}`,
    );
  }

  async function update(
    id: string,
    action: AuditAction,
    edit: (record: ApiKeyRecord) => Promise<ApiKeyRecord>,
  ): Promise<ApiKeyRecord> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const { keyHash, record: before } = await show(id);
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

  return { look, find, show, update };
}
