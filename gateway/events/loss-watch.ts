import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { maxCustomers } from './sweep.ts';

/** Notices that events may have been lost: with a gateway, with the leader before, or with a connection to Redis. */
export interface LossWatch {
  /** This process becomes the leader. */
  begin(leaderId: string): Promise<void>;
  /** Looks whether a gateway is not announced any more: it was killed, or had no Redis. */
  look(): Promise<void>;
  /** Whether the next sweep has to be a fast one: until all customers were looked at twice since a possible loss. */
  beginSweep(): Promise<boolean>;
  /** This process ends in order, as the leader. */
  end(): Promise<void>;
  close(): void;
}

/** Field of the leader that has not ended in an orderly way, in the state of events. */
const leaderField = 'leader';

export function createLossWatch(redis: RedisClient): LossWatch {
  /** Since the last sweep. */
  let isLossPossible = false;
  let customersLeft = 0;
  let gateways = new Set<string>();

  const onDisconnected = () => {
    isLossPossible = true;
  };
  redis.on('close', onDisconnected);

  return {
    async begin(leaderId) {
      const last = await redis.hget(redisKeys.eventState, leaderField);
      await redis.hset(redisKeys.eventState, leaderField, leaderId);
      if (last !== null && last !== leaderId) isLossPossible = true;
    },
    async look() {
      const announced = new Set(await redis.zrange(redisKeys.instances, '0', '-1'));
      if (!gateways.isSubsetOf(announced)) isLossPossible = true;
      gateways = announced;
    },
    async beginSweep() {
      if (isLossPossible) {
        isLossPossible = false;
        // Twice: what was served during an outage is added some seconds after it. A round ends with a sweep of fewer.
        customersLeft = 2 * ((await redis.zcard(redisKeys.customers)) + maxCustomers);
      }
      const isFast = customersLeft > 0;
      customersLeft -= maxCustomers;
      return isFast;
    },
    async end() {
      await redis.hdel(redisKeys.eventState, leaderField);
    },
    close: () => void redis.off('close', onDisconnected),
  };
}
