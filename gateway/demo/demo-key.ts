import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isWellFormedApiKey } from '../api-keys/api-key-format.ts';
import { apiKeyState } from '../api-keys/api-key-record.ts';
import type { ApiKeyStore } from '../operations/api-key-store.ts';

/**
 * The key that `npm start` prints: the one of last time as long as it works, so that a pasted command goes on
 * working. It is the only key that is kept as text, in a file for its owner alone, and only for demonstration.
 */
export async function ensureDemoKey(
  store: ApiKeyStore,
  dataDirectory: string,
  now: () => number,
): Promise<string> {
  const file = join(dataDirectory, 'demo-api-key');
  const kept = readKey(file);
  const record = kept === undefined ? undefined : await store.findByKey(kept);
  if (kept !== undefined && record !== undefined && apiKeyState(record, now()) === 'valid') return kept;
  // A key without a record was forgotten with a Redis in memory: it is made known again. A revoked one stays out.
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
