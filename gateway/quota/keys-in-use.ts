import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';

/** Which API keys are in use, and which of them had a request refused, minute by minute. */
export interface KeysInUse {
  /** Adds a key that had requests in the minute under way. */
  add(id: string, plan: string, refused: boolean): void;
  /** Ends the minute under way, and reports it. Every plan that was ever in use is part of each report. */
  endMinute(): void;
}

/** Ids of the keys with requests in a minute, and of those that had one refused. */
export interface MinuteOfKeys {
  active: string[];
  refused: string[];
}

type ReportKeys = (plan: string, counts: { active: number; refused: number }, keys: MinuteOfKeys) => void;

/** Further keys of a minute are not counted, so that memory stays bounded: 100,000 keys take 8 MB. */
const maxKeys = 100_000;

export function createKeysInUse(report: ReportKeys): KeysInUse {
  const plans = new Set<string>();
  let keys = new Map<string, { plan: string; refused: boolean }>();
  return {
    add(id, plan, refused) {
      const key = keys.get(id);
      if (key !== undefined) key.refused ||= refused;
      else if (keys.size < maxKeys) keys.set(id, { plan, refused });
      plans.add(plan);
    },
    endMinute() {
      const byPlan = new Map(
        Array.from(plans, (plan): [string, MinuteOfKeys] => [plan, { active: [], refused: [] }]),
      );
      for (const [id, { plan, refused }] of keys) {
        byPlan.get(plan)?.active.push(id);
        if (refused) byPlan.get(plan)?.refused.push(id);
      }
      keys = new Map();
      for (const [plan, ofPlan] of byPlan)
        report(plan, { active: ofPlan.active.length, refused: ofPlan.refused.length }, ofPlan);
    },
  };
}

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
