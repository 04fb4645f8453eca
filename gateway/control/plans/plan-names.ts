import { nearestName } from '#runtime/nearest-name.ts';
import { byPlanField, defaultPlans, planFields, type ByPlanField } from '../../limits/limits.ts';
import { windowNames } from '../../limits/windows.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { builtInPlans, enterprisePlan } from '../../quota/plan-settings.ts';
import { IssueForOperators, type InvalidOperation } from '../invalid-operation.ts';
import { assertNotApiKey } from '../keys/pasted-key.ts';

/** Names of plans with limits of their own for keys: built-in ones first, and then those in gw:plans, sorted. */
export async function readLimitedPlans(redis: RedisClient): Promise<string[]> {
  const own = (await redis.smembers(redisKeys.planNames)).filter((name) => !builtInPlans.has(name));
  return [...Object.keys(defaultPlans), ...own.toSorted()];
}

/** Names of all plans that keys can be on, in the order of the alphabet. */
export async function readPlanNames(redis: RedisClient): Promise<string[]> {
  const listed = await redis.smembers(redisKeys.planNames);
  return [...new Set([...Object.keys(defaultPlans), enterprisePlan, ...listed])].toSorted();
}

/**
 * @param names names of plans that exist
 * @param advice what to do if the nearest of them was not meant
 * @returns the error for a plan that does not exist
 * @throws InvalidOperation for an API key, which the error would repeat
 */
export function unknownPlan(name: string, names: readonly string[], advice?: string): InvalidOperation {
  assertNotApiKey(name);
  const near = nearestName(name, names);
  const question = near === undefined ? [] : [`did you mean "${near}"?`];
  const hints = [...question, advice ?? (near === undefined ? `the plans are ${listPlans(names)}` : '')];
  return new IssueForOperators(`there is no plan named ${JSON.stringify(name)}; ${hints.join(' ').trim()}`);
}

/** @throws InvalidOperation for a plan that does not exist */
export async function assertPlanName(redis: RedisClient, name: string | undefined): Promise<void> {
  const names = name === undefined ? [] : await readPlanNames(redis);
  if (name !== undefined && !names.includes(name)) {
    throw unknownPlan(name, names, `the plans are ${listPlans(names)}`);
  }
}

/** Options of the command, of which one is enough. */
export const anyLimit = windowNames.map((name) => `--${name} N`).join(' or ');

const maxListed = 20;

/** Names of plans for a message: each once, and not all if there are many. */
export function listPlans(names: readonly string[]): string {
  const distinct = [...new Set(names)];
  const more = distinct.length > maxListed ? ', …' : '';
  return distinct.slice(0, maxListed).join(', ') + more;
}

/** Reads the limits of a plan as text. */
export async function readPlanLimits(redis: RedisClient, name: string): Promise<ByPlanField<string>> {
  const texts = await redis.hmget(redisKeys.plan(name), ...planFields);
  return byPlanField((field) => texts[planFields.indexOf(field)] ?? undefined);
}
