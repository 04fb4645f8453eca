import type { Logger } from 'pino';
import { changeRedis } from '../../control/change-redis.ts';
import { readOnlyAudit, type ReadingSession, type Session } from '../../control/session.ts';
import { createRedis } from '../../platform/redis/redis-client.ts';
import { createRedisClock } from '../../platform/redis/redis-gate.ts';
import { ApiError } from './api-error.ts';
import type { Changed } from './route.ts';

export type ConsoleRedis = ReturnType<typeof createConsoleRedis>;

interface ConsoleRedisDependencies {
  url: string;
  /** Whether the gateway runs this Redis itself, and has logged what may be lost. */
  isPrivate: boolean;
  log: Logger;
  now: () => number;
}

/** Age after which the clock of Redis is read again. */
const clockMaxAgeMs = 10_000;

/** The admin port's own connection to Redis: what operators do must not queue behind requests, nor delay them. */
export function createConsoleRedis({ url, isPrivate, log, now }: ConsoleRedisDependencies) {
  const redis = createRedis(url, log);
  const clock = createRedisClock({ redis, now });
  let syncedAtMs = Number.NEGATIVE_INFINITY;

  /** @throws ApiError service_unavailable */
  async function open(): Promise<ReadingSession> {
    if (performance.now() - syncedAtMs > clockMaxAgeMs) {
      await clock.sync().catch(() => {
        throw new ApiError('service_unavailable');
      });
      syncedAtMs = performance.now();
    }
    return { redis, now: clock.now };
  }

  return {
    redis,
    async read<T>(use: (session: Session) => Promise<T>) {
      return use({ ...(await open()), audit: readOnlyAudit });
    },
    /** See RouteApi.change. @param by the person, and why */
    async change<T>(
      by: { who: string; reason: string | undefined },
      use: (session: Session) => Promise<T>,
    ): Promise<Changed<T> & { isConfirmed: boolean }> {
      const warnings: string[] = [];
      const warn = (warning: string) => void warnings.push(warning);
      const { result, unconfirmed } = await changeRedis({ ...(await open()), ...by, isPrivate, warn }, use);
      const isConfirmed = unconfirmed === undefined;
      return { result, isConfirmed, warnings: isConfirmed ? warnings : [...warnings, unconfirmed] };
    },
    close: () => redis.disconnect(),
  };
}
