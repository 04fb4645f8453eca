import type { RedisClient } from './redis-client.ts';

interface RedisClockDependencies {
  redis: Pick<RedisClient, 'time'>;
  /** Unix milliseconds by this process' clock. */
  now: () => number;
  /** Milliseconds by a clock that is never set. */
  monotonicMs?: () => number;
}

/** Any later time may be meant, also by a test with a clock of its own. */
const minimumMs = Date.UTC(2001);

export type RedisClock = ReturnType<typeof createRedisClock>;

/** Redis' clock as this process knows it, so that all instances agree on the time, during an outage of Redis as well. */
export function createRedisClock(dependencies: RedisClockDependencies) {
  const { redis, now, monotonicMs = () => performance.now() } = dependencies;
  /** Difference between Redis' clock and the monotonic one. */
  let offsetMs: number | undefined;
  return {
    /** Unix milliseconds by Redis' clock. By this process' own clock until `sync` has succeeded once. */
    now: () => (offsetMs === undefined ? now() : Math.floor(monotonicMs() + offsetMs)),
    /** Reads the clock of Redis. Rejects if Redis is unavailable or sends no time; the last reading then goes on. */
    async sync(): Promise<void> {
      const sentAtMs = monotonicMs();
      const [seconds, micros] = await redis.time();
      const receivedAtMs = monotonicMs();
      const redisMs = Number(seconds) * 1000 + Number(micros) / 1000;
      // A malformed reply can shift the replies of a connection by one.
      if (!(redisMs > minimumMs)) throw new Error('Redis sent something else than its time');
      // Redis read its clock between the two. What is known stays if it agrees with that, and else moves no further than it has
      // to: a reading that took long says little.
      const least = redisMs - receivedAtMs;
      const most = redisMs - sentAtMs;
      offsetMs = Math.min(Math.max(offsetMs ?? (least + most) / 2, least), most);
    },
  };
}
