import type { Logger } from 'pino';
import type { RedisClient } from './redis-client.ts';
import { redisKeys } from './redis-keys.ts';

interface SetUpMarkerDependencies {
  redis: RedisClient;
  log: Logger;
  onChange: (isMissing: boolean) => void;
}

export type SetUpMarker = ReturnType<typeof createSetUpMarker>;

/**
 * Says whether Redis is set up. One that came back empty is not, so a key that it lacks may be a lost one: clients take a 401
 * as final.
 */
export function createSetUpMarker({ redis, log, onChange }: SetUpMarkerDependencies) {
  let isMissing = false;
  return {
    /** Whether the marker was missing when it was last looked for. */
    isMissing: () => isMissing,
    /** Looks for the marker. Rejects if Redis is unavailable. */
    async refresh(): Promise<void> {
      const isFound = (await redis.exists(redisKeys.setUp)) === 1;
      if (isFound !== isMissing) return;
      isMissing = !isFound;
      onChange(isMissing);
      if (isFound) log.warn('Redis is set up again; keys that it lacks are unknown');
      else
        log.error(
          `Redis came back empty: ${redisKeys.setUp} is missing; keys that it lacks get 503 until ops keys import, or a restored backup`,
        );
    },
  };
}

/** Says that this Redis is set up. @returns false if it was before */
export async function markSetUp(redis: RedisClient): Promise<boolean> {
  return (await redis.set(redisKeys.setUp, new Date().toISOString(), 'NX')) === 'OK';
}
