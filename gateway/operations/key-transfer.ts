import { z } from 'zod';
import {
  apiKeyState,
  expiryOf,
  expiryText,
  formatApiKeyRecord,
  keptSeconds,
  parseApiKeyRecord,
  type ApiKeyRecord,
} from '../api-keys/api-key-record.ts';
import { faultsOf } from '../config/describe-issues.ts';
import { maxLimit } from '../plans/limits.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { createApiKeyIndex } from './api-key-index.ts';
import type { ListedApiKey } from './api-key-store.ts';
import type { RecordChange } from './audit-log.ts';
import { StoreRefusal } from './invalid-operation.ts';
import { assertLimits, listPlan } from './key-limits.ts';

/** A record outside of Redis. It holds the hash of the key and not the key, so it is no secret to sign in with. */
export interface TransferredKey extends ApiKeyRecord {
  sha256: string;
}

/** What became of the records of a file. */
export interface ImportResult {
  added: number;
  /** Here already, and the same. */
  unchanged: number;
  /** Here already, and changed since they were exported: left as they are. */
  differing: number;
  /** So long revoked or expired that records of that age are not kept any more. */
  outdated: number;
}

/** A line of a file that importKeys reads. */
export function exportLine(key: Extract<ListedApiKey, { outcome: 'record' }>): string {
  return JSON.stringify({ sha256: key.sha, ...key.record } satisfies TransferredKey);
}

const limit = z.number().int().min(1).max(maxLimit).optional();
/** Writing raises it once more, and it has 15 digits at the most. */
const maxRev = 999_999_999_999_998;

/** As permissive as a record in Redis is: whatever can be exported can be imported. */
const lineSchema = z.strictObject({
  sha256: z.string().regex(/^[\da-f]{64}$/, 'is not a SHA-256 in hexadecimal'),
  id: z.string().min(1),
  name: z.string(),
  plan: z.string().min(1),
  hint: z.string(),
  createdAt: z.string(),
  expiresAt: expiryText.optional(),
  minute: limit,
  day: limit,
  revokedAt: z.string().min(1).optional(),
  replaces: z.string().optional(),
  replacedBy: z.string().optional(),
  rev: z.number().int().min(0).max(maxRev),
});

interface KeyImportDependencies {
  redis: RedisClient;
  audit: RecordChange;
  now: () => number;
}

/**
 * Puts exported records back. All lines are checked before the first one is written, so that a broken file
 * changes nothing; what is here already stays as it is, so that importing twice is the same as once.
 * @throws StoreRefusal that names the line
 */
export async function importKeys(
  lines: AsyncIterable<string> | Iterable<string>,
  { redis, audit, now }: KeyImportDependencies,
): Promise<ImportResult> {
  const index = createApiKeyIndex({ redis, now });
  const result: ImportResult = { added: 0, unchanged: 0, differing: 0, outdated: 0 };
  const absent: TransferredKey[] = [];
  const unindexed: TransferredKey[] = [];

  const seen = new Map<string, number>();
  for await (const { key, line } of parseLines(lines)) {
    for (const name of [key.id, key.sha256]) {
      const earlier = seen.get(name);
      if (earlier !== undefined)
        throw new StoreRefusal(`line ${line}: ${name} stands in line ${earlier} already`);
      seen.set(name, line);
    }
    switch (await check(key, line)) {
      case 'absent':
        absent.push(key);
        break;
      case 'unchanged':
        result.unchanged += 1;
        break;
      case 'differing':
        result.differing += 1;
        break;
      case 'outdated':
        result.outdated += 1;
    }
  }
  for (const { sha256, ...record } of unindexed) await index.add(record, sha256);
  for (let start = 0; start < absent.length; start += batchSize) {
    const added = await Promise.all(absent.slice(start, start + batchSize).map(add));
    for (const outcome of added) result[outcome] += 1;
  }
  return result;

  async function check(
    { sha256, ...record }: TransferredKey,
    line: number,
  ): Promise<'absent' | 'unchanged' | 'differing' | 'outdated'> {
    const [indexed, fields] = await Promise.all([
      index.shaOf(record.id),
      redis.hgetall(redisKeys.apiKey(sha256)),
    ]);
    if (indexed !== undefined && indexed !== sha256) {
      throw new StoreRefusal(`line ${line}: ${record.id} is the id of another key here`);
    }
    const found = parseApiKeyRecord(fields);
    if (found.outcome === 'broken') return 'differing';
    if (found.outcome === 'record') {
      if (found.record.id !== record.id) {
        throw new StoreRefusal(`line ${line}: the key of ${record.id} is ${found.record.id} here`);
      }
      // Half of an earlier import, or an index that was lost.
      if (indexed === undefined) unindexed.push({ sha256, ...record });
      return isSame(found.record, record) ? 'unchanged' : 'differing';
    }
    const end = expiryOf(record);
    if (end !== '' && end * 1000 <= now()) return 'outdated';
    if (apiKeyState(record, now()) === 'valid') {
      await assertLimits(redis, record).catch((error: unknown) => {
        throw error instanceof StoreRefusal ? new StoreRefusal(`line ${line}: ${error.message}`) : error;
      });
    }
    return 'absent';
  }

  async function add({ sha256, ...record }: TransferredKey): Promise<'added' | 'unchanged'> {
    if (apiKeyState(record, now()) === 'valid') await listPlan(redis, record);
    const after = { ...record, rev: record.rev + 1 };
    await audit({ action: 'keys.import', target: record.id, before: null, after });
    const fields = [...formatApiKeyRecord(record), 'rev', String(record.rev)];
    // The record first: reindexKeys takes ids without one off the index.
    const rev = await redis.changeRecord(
      redisKeys.apiKey(sha256),
      0,
      expiryOf(record),
      keptSeconds,
      ...fields,
    );
    await index.add(record, sha256);
    // Somebody imports the same file at this moment.
    return rev === 0 ? 'unchanged' : 'added';
  }
}

const batchSize = 200;

async function* parseLines(
  lines: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<{ key: TransferredKey; line: number }> {
  let line = 0;
  for await (const text of lines) {
    line += 1;
    if (text.trim() === '') continue;
    let json: unknown;
    try {
      json = JSON.parse(line === 1 ? text.replace(/^\u{FEFF}/u, '') : text);
    } catch {
      throw new StoreRefusal(`line ${line} is not JSON`);
    }
    const parsed = lineSchema.safeParse(json);
    if (!parsed.success) {
      throw new StoreRefusal(`line ${line}: ${faultsOf(parsed.error).join('; ')}`);
    }
    yield { key: parsed.data, line };
  }
}

/** But for `rev`, which is raised by writing. */
function isSame(one: ApiKeyRecord, other: ApiKeyRecord): boolean {
  return JSON.stringify(formatApiKeyRecord(one)) === JSON.stringify(formatApiKeyRecord(other));
}
