import { once } from 'node:events';
import type { Logger } from 'pino';
import type { Session } from '../../control/session.ts';
import { createAuditLog } from '../../platform/redis/record-change.ts';
import { createRedis } from '../../platform/redis/redis-client.ts';

export interface DemoRedis {
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
export async function withDemoRedis<T>(
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
