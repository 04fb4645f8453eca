import { defaultPlans, enterprisePlan } from '../plans/plans.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { nearestName } from './nearest-name.ts';

/** Names of all plans that keys can be on, in the order of the alphabet. */
export async function readPlanNames(redis: RedisClient): Promise<string[]> {
  const listed = await redis.smembers(redisKeys.planNames);
  return [...new Set([...Object.keys(defaultPlans), enterprisePlan, ...listed])].toSorted();
}

/** @returns the plan that a name was meant to be; undefined if there is a plan of that name, or none is near */
export async function nearestPlan(redis: RedisClient, name: string): Promise<string | undefined> {
  const names = await readPlanNames(redis);
  return names.includes(name) ? undefined : nearestName(name, names);
}
