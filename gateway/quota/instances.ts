import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';

export interface Instances {
  /** Number of live gateways with this one; at least 1. The last known number while Redis is unavailable. */
  count(): number;
  /** Announces this instance and counts the others. Never rejects. */
  announce(): Promise<void>;
  /** Takes this instance off the list, at shutdown. Never rejects. */
  leave(): Promise<void>;
}

const aliveMs = 5000;
const keptSeconds = 60;

/**
 * Each instance has to know how many there are, because during an outage each one admits its share of a limit.
 * @param now Redis' clock, so that the instances' own clocks do not matter
 */
export function createInstances({ redis, now }: { redis: RedisClient; now: () => number }): Instances {
  const id = randomUUID();
  let count = 1;
  return {
    count: () => count,
    async announce() {
      const key = redisKeys.instances;
      try {
        const [, , , , live] = await Promise.all([
          redis.zadd(key, now(), id),
          redis.zremrangebyscore(key, '-inf', now() - keptSeconds * 1000),
          // From before the clock of Redis was set back.
          redis.zremrangebyscore(key, now() + keptSeconds * 1000, '+inf'),
          redis.expire(key, keptSeconds),
          redis.zcount(key, now() - aliveMs, '+inf'),
        ]);
        count = Math.max(1, live);
      } catch {
        // Redis is unavailable: the last count stays.
      }
    },
    async leave() {
      await redis.zrem(redisKeys.instances, id).catch(() => 0);
    },
  };
}
