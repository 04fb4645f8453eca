import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { makeConsoleCode } from '../../control/access/console-sessions.ts';
import { osUser } from '../../control/access/os-user.ts';
import { issueKey } from '../../control/keys/keys.ts';
import { readKeyOfHash } from '../../control/keys/stored-keys.ts';
import type { Session } from '../../control/session.ts';
import { hashApiKey, isWellFormedApiKey } from '../../keys/api-key-format.ts';
import { apiKeyState } from '../../keys/records.ts';
import { createAuditLog } from '../../platform/redis/record-change.ts';
import { createRedis } from '../../platform/redis/redis-client.ts';

interface DemoDependencies {
  dataDirectory: string;
  redisUrl: string;
  log: Logger;
}

const redisTimeoutMs = 2000;

/** Makes what `npm start` prints: a key, and the code in the link to the console. @returns neither if the log says why */
export async function provideDemoAccess({ dataDirectory, redisUrl, log }: DemoDependencies) {
  const redis = createRedis(redisUrl, log);
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(redisTimeoutMs) });
    const session = { redis, audit: createAuditLog({ redis, who: 'npm start' }), now: () => Date.now() };
    const demoKey = await ensureDemoKey(session, dataDirectory);
    const { code } = await makeConsoleCode(session, { name: osUser(), role: 'operator' });
    return { demoKey, consoleCode: code };
  } catch (error) {
    // The demo must not keep the gateway from starting.
    log.warn({ err: error }, 'no demo key and no link to the console can be made');
    return {};
  } finally {
    redis.disconnect();
  }
}

/**
 * Reuses the key of the last start while it is valid, so that a pasted command goes on working. It is the only key that
 * is kept as text, in a file that only its owner can read.
 */
async function ensureDemoKey(session: Session, dataDirectory: string): Promise<string> {
  const file = join(dataDirectory, 'demo-api-key');
  const kept = readKey(file);
  const found = kept === undefined ? undefined : await readKeyOfHash(session.redis, hashApiKey(kept));
  const record = found?.record;
  if (kept !== undefined && record !== undefined && apiKeyState(record, Date.now()) === 'active') return kept;
  // A key without a record was lost with a Redis that keeps its data in memory: it is issued again. A revoked key is not.
  const reissued = record === undefined ? kept : undefined;
  const { key } = await issueKey(session, { name: 'demo', plan: 'free' }, reissued);
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
