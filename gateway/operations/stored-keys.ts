import {
  expiryOf,
  formatApiKeyRecord,
  keptSeconds,
  parseApiKeyRecord,
  type ApiKeyRecord,
} from '../api-keys/api-key-record.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import type { ApiKeyIndex } from './api-key-index.ts';
import type { RecordChange } from './audit-log.ts';
import { StoreRefusal } from './invalid-operation.ts';

/** A key as it is in Redis: its record, or what is wrong with one that was edited by hand. */
export type StoredApiKey =
  | { outcome: 'record'; record: ApiKeyRecord }
  | { outcome: 'broken'; id: string; faults: string[]; revoked: boolean };

export interface StoredKeys {
  /** @returns undefined where there is no record; an empty rev for one that is no hash any more */
  look(id: string, sha: string): Promise<{ rev: string; key: StoredApiKey } | undefined>;
  /** @throws StoreRefusal where there is no such key */
  find(id: string): Promise<{ sha: string; rev: string; key: StoredApiKey }>;
  /** @throws StoreRefusal where there is no such key, or its record can't be read */
  show(id: string): Promise<{ sha: string; record: ApiKeyRecord }>;
  /**
   * Reads, decides, and writes if nobody wrote in between; else once more. Audited.
   * @throws StoreRefusal as `show` does, and what `edit` throws
   */
  update(
    id: string,
    action: string,
    edit: (record: ApiKeyRecord) => Promise<ApiKeyRecord>,
  ): Promise<ApiKeyRecord>;
}

/** How often a change is tried anew because of others at the same time. */
export const maxAttempts = 5;

interface StoredKeysDependencies {
  redis: RedisClient;
  index: Pick<ApiKeyIndex, 'shaOf' | 'isListed' | 'sizes'>;
  audit: RecordChange;
}

/** Records by the id of their key, whatever somebody may have made of them by hand. */
export function createStoredKeys({ redis, index, audit }: StoredKeysDependencies): StoredKeys {
  async function readFields(
    sha: string,
  ): Promise<{ rev: string; fields: Record<string, string> | 'no hash' }> {
    try {
      const fields = await redis.hgetall(redisKeys.apiKey(sha));
      return { rev: fields['rev'] ?? '0', fields };
    } catch (error) {
      if (isWrongType(error)) return { rev: '', fields: 'no hash' };
      throw error;
    }
  }

  async function look(id: string, sha: string): Promise<{ rev: string; key: StoredApiKey } | undefined> {
    const { rev, fields } = await readFields(sha);
    if (fields === 'no hash') {
      const faults = [`${redisKeys.apiKey(sha)} is not a hash any more: DEL it`];
      return { rev, key: { outcome: 'broken', id, faults, revoked: false } };
    }
    const parsed = parseApiKeyRecord(fields);
    if (parsed.outcome === 'absent') return undefined;
    return { rev, key: parsed.outcome === 'broken' ? { ...parsed, id } : parsed };
  }

  async function find(id: string): Promise<{ sha: string; rev: string; key: StoredApiKey }> {
    const sha = await index.shaOf(id);
    if (sha === undefined && (await index.isListed(id))) {
      throw new StoreRefusal(
        `${redisKeys.apiKeyIds} has no hash for ${id}, which is in ${redisKeys.apiKeysByCreation}: ` +
          'ops keys reindex finds it',
      );
    }
    const found = sha === undefined ? undefined : await look(id, sha);
    if (sha === undefined || found === undefined) {
      const { hashed } = await index.sizes();
      const hint =
        hashed === 0
          ? `, and none at all in ${redisKeys.apiKeyIds}: ops keys reindex finds those that there are`
          : '';
      throw new StoreRefusal(`there is no API key with the id ${JSON.stringify(id)}${hint}`);
    }
    return { sha, ...found };
  }

  async function show(id: string): Promise<{ sha: string; record: ApiKeyRecord }> {
    const { sha, key } = await find(id);
    if (key.outcome === 'record') return { sha, record: key.record };
    throw new StoreRefusal(
      `the record ${redisKeys.apiKey(sha)} was edited into something unusable: ${key.faults.join('; ')}`,
    );
  }

  /** Read, decide, write if nobody wrote in between; else once more. */
  async function update(
    id: string,
    action: string,
    edit: (record: ApiKeyRecord) => Promise<ApiKeyRecord>,
  ): Promise<ApiKeyRecord> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const { sha, record: before } = await show(id);
      const edited = await edit(before);
      const after = { ...edited, rev: before.rev + 1 };
      await audit({ action, target: id, before, after });
      const fields = formatApiKeyRecord(edited);
      const rev = await redis.changeRecord(
        redisKeys.apiKey(sha),
        before.rev,
        expiryOf(edited),
        keptSeconds,
        ...fields,
      );
      if (rev > 0) return { ...edited, rev };
    }
    throw new Error(`the key ${id} is being changed by others all the time`);
  }

  return { look, find, show, update };
}
