import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';

export interface Instances {
  /** Gateways that are alive, this one included; at least 1. As last known while Redis is away. */
  count(): number;
  /** Says that this instance lives, and counts the others. Never rejects. */
  announce(): Promise<void>;
  /** Takes this instance off the list, at shutdown. Never rejects. */
  leave(): Promise<void>;
}

const aliveMs = 5000;
const keptSeconds = 60;

/**
 * During an outage each instance may admit its share of a limit, so each must know how many they are.
 * Scores are the instances' own clocks: a skew of a few seconds only delays when a dead one is noticed.
 */
export function createInstances({ redis, now }: { redis: RedisClient; now: () => number }): Instances {
  const id = randomUUID();
  let count = 1;
  return {
    count: () => count,
    async announce() {
      const key = redisKeys.instances;
      try {
        const [, , , live] = await Promise.all([
          redis.zadd(key, now(), id),
          redis.zremrangebyscore(key, '-inf', now() - keptSeconds * 1000),
          redis.expire(key, keptSeconds),
          redis.zcount(key, now() - aliveMs, '+inf'),
        ]);
        count = Math.max(1, live);
      } catch {
        // Redis is away: the last count is the best there is.
      }
    },
    async leave() {
      await redis.zrem(redisKeys.instances, id).catch(() => 0);
    },
  };
}
