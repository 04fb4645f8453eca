import { byPlanField, defaultPlans, planFields, type ByPlanField } from '../../limits/limits.ts';
import { windowNames } from '../../limits/windows.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { builtInPlans, enterprisePlan, planNamePattern } from '../../quota/plan-settings.ts';
import { IssueForOperators, type InvalidOperation } from '../invalid-operation.ts';
import { assertNotApiKey } from '../keys/pasted-key.ts';

/** Names in gw:plans. One that somebody has added by hand and no command accepts is no plan. */
const readListed = async (redis: RedisClient) =>
  (await redis.smembers(redisKeys.planNames)).filter((name) => planNamePattern.test(name));

/** Names of plans with limits of their own for keys: built-in ones first, and then those in gw:plans, sorted. */
export async function readLimitedPlans(redis: RedisClient): Promise<string[]> {
  const own = (await readListed(redis)).filter((name) => !builtInPlans.has(name));
  return [...Object.keys(defaultPlans), ...own.toSorted()];
}

/** Names of all plans that keys can be on, in the order of the alphabet. */
export async function readPlanNames(redis: RedisClient): Promise<string[]> {
  const listed = await readListed(redis);
  return [...new Set([...Object.keys(defaultPlans), enterprisePlan, ...listed])].toSorted();
}

/** The error for a plan that is not among those that exist. @throws InvalidOperation for an API key, which it would repeat */
export function unknownPlan(name: string, names: readonly string[]): InvalidOperation {
  assertNotApiKey(name);
  const listed = names.slice(0, maxListed).join(', ') + (names.length > maxListed ? ', …' : '');
  return new IssueForOperators(`there is no plan named ${JSON.stringify(name)}; the plans are ${listed}`);
}

const maxListed = 20;

/** @throws InvalidOperation for a plan that does not exist */
export async function assertPlanName(redis: RedisClient, name: string | undefined): Promise<void> {
  const names = name === undefined ? [] : await readPlanNames(redis);
  if (name !== undefined && !names.includes(name)) throw unknownPlan(name, names);
}

/** Options of the command, of which one is enough. */
export const anyLimit = windowNames.map((name) => `--${name} N`).join(' or ');

/** Reads the limits of a plan as text. */
export async function readPlanLimits(redis: RedisClient, name: string): Promise<ByPlanField<string>> {
  const texts = await redis.hmget(redisKeys.plan(name), ...planFields);
  return byPlanField((field) => texts[planFields.indexOf(field)] ?? undefined);
}
