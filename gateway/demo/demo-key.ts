import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { isWellFormedApiKey } from '../api-keys/api-key-format.ts';
import { apiKeyState } from '../api-keys/api-key-record.ts';
import { createApiKeyStore, type ApiKeyStore } from '../operations/api-key-store.ts';
import { createAuditLog } from '../redis/record-change.ts';
import { createRedis } from '../redis/redis-client.ts';

const redisTimeoutMs = 2000;

const now = () => Date.now();

interface DemoKeyDependencies {
  dataDirectory: string;
  redisUrl: string;
  log: Logger;
}

/**
 * The key that `npm start` prints.
 * @returns undefined if there can be none, because Redis is unavailable or the Free plan is invalid: the demo must not
 * keep the gateway from starting
 */
export async function provideDemoKey(dependencies: DemoKeyDependencies): Promise<string | undefined> {
  const { dataDirectory, redisUrl, log } = dependencies;
  const redis = createRedis(redisUrl, log);
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(redisTimeoutMs) });
    const audit = createAuditLog({ redis, who: 'npm start' });
    return await ensureDemoKey(createApiKeyStore({ redis, audit, now }), dataDirectory);
  } catch (error) {
    log.warn({ err: error }, 'no demo key can be issued');
    return undefined;
  } finally {
    redis.disconnect();
  }
}

/**
 * Reuses the key of the last start while it is valid, so that a pasted command goes on working. It is the only key that
 * is kept as text, in a file that only its owner can read.
 */
async function ensureDemoKey(store: ApiKeyStore, dataDirectory: string): Promise<string> {
  const file = join(dataDirectory, 'demo-api-key');
  const kept = readKey(file);
  const record = kept === undefined ? undefined : await store.findByKey(kept);
  if (kept !== undefined && record !== undefined && apiKeyState(record, now()) === 'valid') return kept;
  // A key without a record was lost with a Redis that keeps its data in memory: it is issued again. A revoked key is not.
  const { key } = await store.issue({ name: 'demo', plan: 'free' }, record === undefined ? kept : undefined);
  writeFileSync(file, `${key}\n`, { mode: 0o600 });
  return key;
}

function readKey(file: string): string | undefined {
  try {
    const text = readFileSync(file, 'utf8').trim();
    return isWellFormedApiKey(text) ? text : undefined;
  } catch {
    return undefined;
  }
}
