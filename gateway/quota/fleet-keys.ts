import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import type { MinuteOfKeys } from './keys-in-use.ts';

const minuteMs = 60_000;
const keptSeconds = 300;
const maxArguments = 1000;

/**
 * Counts the keys in use of all gateways: one whose requests are spread over several processes counts once. By Redis'
 * HyperLogLog, which takes 12 kB a plan and minute at most, and is wrong by 1 %.
 * @param plan of the keys that this process has seen in the minute that ended now
 * @returns counts of the minute before, which every process has reported
 * @throws Error if Redis is unavailable
 */
export async function countInFleet(
  redis: RedisClient,
  plan: string,
  keys: MinuteOfKeys,
  nowMs: number,
): Promise<{ active: number; refused: number }> {
  const minute = Math.floor(nowMs / minuteMs);
  async function count(kind: keyof MinuteOfKeys): Promise<number> {
    const slot = redisKeys.keysInUse(kind, plan, minute);
    for (let start = 0; start < keys[kind].length; start += maxArguments)
      await redis.pfadd(slot, ...keys[kind].slice(start, start + maxArguments));
    await redis.expire(slot, keptSeconds);
    return redis.pfcount(redisKeys.keysInUse(kind, plan, minute - 1));
  }
  const [active, refused] = await Promise.all([count('active'), count('refused')]);
  return { active, refused };
}
