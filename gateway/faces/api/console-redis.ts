import type { Logger } from 'pino';
import { changeRedis } from '../../control/change-redis.ts';
import { readOnlyAudit, type ReadingSession } from '../../control/session.ts';
import { createRedis, type RedisClient } from '../../platform/redis/redis-client.ts';
import { createRedisClock } from '../../platform/redis/redis-gate.ts';
import { ApiError } from './api-error.ts';
import type { Changed, RouteApi } from './route.ts';

/** The admin port's own connection to Redis: what operators do must not queue behind requests, nor delay them. */
export interface ConsoleRedis extends Pick<RouteApi, 'read'> {
  redis: RedisClient;
  /** See RouteApi.change. @param by the person, and why */
  change<T>(
    by: { who: string; reason: string | undefined },
    use: Parameters<typeof changeRedis<T>>[1],
  ): Promise<Changed<T> & { isConfirmed: boolean }>;
  close(): void;
}

interface ConsoleRedisDependencies {
  url: string;
  /** Whether the gateway runs this Redis itself, and has logged what may be lost. */
  isPrivate: boolean;
  log: Logger;
  now: () => number;
}

/** Age after which the clock of Redis is read again. */
const clockMaxAgeMs = 10_000;

export function createConsoleRedis({ url, isPrivate, log, now }: ConsoleRedisDependencies): ConsoleRedis {
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
    async read(use) {
      return use({ ...(await open()), audit: readOnlyAudit });
    },
    async change(by, use) {
      const warnings: string[] = [];
      const { result, unconfirmed } = await changeRedis(
        {
          ...(await open()),
          ...by,
          isPrivate,
          warn: (warning) => warnings.push(warning),
        },
        use,
      );
      const isConfirmed = unconfirmed === undefined;
      return { result, isConfirmed, warnings: isConfirmed ? warnings : [...warnings, unconfirmed] };
    },
    close: () => redis.disconnect(),
  };
}
