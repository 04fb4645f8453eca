import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { makeConsoleCode } from '../../control/access/console-codes.ts';
import { osUser } from '../../control/access/os-user.ts';
import { issueKey } from '../../control/keys/keys.ts';
import { readKeyOfHash } from '../../control/keys/stored-keys.ts';
import type { Session } from '../../control/session.ts';
import { hashApiKey, isWellFormedApiKey } from '../../keys/api-key-format.ts';
import { apiKeyState } from '../../keys/records.ts';
import { createAuditLog } from '../../platform/redis/record-change.ts';
import { createRedis } from '../../platform/redis/redis-client.ts';

interface DemoKeyDependencies extends Omit<DemoRedis, 'who'> {
  dataDirectory: string;
}

/** The key that `npm start` prints. @returns undefined if there can be none; the log says why */
export function provideDemoKey(dependencies: DemoKeyDependencies): Promise<string | undefined> {
  const { dataDirectory, redisUrl, log } = dependencies;
  return withDemoRedis({ redisUrl, log, who: 'npm start' }, 'no demo key can be issued', (session) =>
    ensureDemoKey(session, dataDirectory),
  );
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

/** The code in the link to the console that `npm start` prints. @returns undefined if there can be none; the log says why */
export async function provideConsoleCode(dependencies: Omit<DemoRedis, 'who'>): Promise<string | undefined> {
  const name = osUser();
  const made = await withDemoRedis(
    { ...dependencies, who: name },
    'no link to the console can be made',
    (session) => makeConsoleCode(session, { name, role: 'operator' }),
  );
  return made?.code;
}

interface DemoRedis {
  redisUrl: string;
  log: Logger;
  /** Name in the audit log. */
  who: string;
}

const redisTimeoutMs = 2000;

/**
 * Runs what `npm start` prepares.
 * @param failure for the log
 * @returns undefined if it can't be done, for example because Redis is unavailable: the demo must not keep the gateway from
 * starting
 */
async function withDemoRedis<T>(
  { redisUrl, log, who }: DemoRedis,
  failure: string,
  use: (session: Session) => Promise<T>,
): Promise<T | undefined> {
  const redis = createRedis(redisUrl, log);
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(redisTimeoutMs) });
    return await use({ redis, audit: createAuditLog({ redis, who }), now: () => Date.now() });
  } catch (error) {
    log.warn({ err: error }, failure);
    return undefined;
  } finally {
    redis.disconnect();
  }
}
