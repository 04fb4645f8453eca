import type { RedisClient } from './redis-client.ts';

/** Redis' clock as this process knows it, so that all instances agree on the time, during an outage of Redis as well. */
export interface RedisClock {
  /** Unix milliseconds by Redis' clock. By this process' own clock until `sync` has succeeded once. */
  now(): number;
  /** Reads the clock of Redis. Rejects if Redis is unavailable or sends no time; the last reading then goes on. */
  sync(): Promise<void>;
}

interface RedisClockDependencies {
  redis: Pick<RedisClient, 'time'>;
  /** Unix milliseconds by this process' clock. */
  now: () => number;
  /** Milliseconds by a clock that is never set. */
  monotonicMs?: () => number;
}

/** A reading is off by up to half the time that it took, so a slow one does not replace another. */
const maxRoundTripMs = 100;
/** Any later time may be meant, also by a test with a clock of its own. */
const minimumMs = Date.UTC(2001);

export function createRedisClock(dependencies: RedisClockDependencies): RedisClock {
  const { redis, now, monotonicMs = () => performance.now() } = dependencies;
  /** Difference between Redis' clock and the monotonic one. */
  let offsetMs: number | undefined;
  return {
    now: () => (offsetMs === undefined ? now() : Math.floor(monotonicMs() + offsetMs)),
    async sync() {
      const sentAtMs = monotonicMs();
      const [seconds, micros] = await redis.time();
      const roundTripMs = monotonicMs() - sentAtMs;
      const redisMs = Number(seconds) * 1000 + Number(micros) / 1000;
      // A malformed reply can shift the replies of a connection by one.
      if (!(redisMs > minimumMs)) throw new Error('Redis sent something else than its time');
      if (offsetMs !== undefined && roundTripMs > maxRoundTripMs) return;
      offsetMs = redisMs - (sentAtMs + roundTripMs / 2);
    },
  };
}
