import type { ApiKeyRecord } from '../api-keys/api-key-record.ts';
import { parseLimit } from '../plans/limits.ts';
import { anonymousPlan, defaultPlans, enterprisePlan } from '../plans/plans.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { readPlanNames } from './plan-names.ts';
import { readPlanLimits } from './plan-store.ts';
import { unknownPlan } from './unknown-plan.ts';

type KeyLimits = Pick<ApiKeyRecord, 'plan' | 'minute' | 'day'>;

/**
 * @throws InvalidOperation if the plan does not exist, is not set in Redis, or lacks a limit that the key does not set
 * itself
 */
export async function assertLimits(redis: RedisClient, { plan, minute, day }: KeyLimits): Promise<void> {
  if (plan === enterprisePlan) {
    if (minute === undefined || day === undefined) {
      throw new InvalidOperation(
        'an enterprise key needs limits of its own, a minute and a day limit (--minute N --day N)',
      );
    }
    return;
  }
  const limits = plan === anonymousPlan ? [] : await readPlanLimits(redis, plan);
  if (limits.length === 0 || limits.some((limit) => parseLimit(limit) === undefined)) {
    if (Object.hasOwn(defaultPlans, plan)) {
      throw new InvalidOperation(
        `the plan ${plan} has no valid limits in Redis: set them with ops plans set; see: ops plans list`,
      );
    }
    throw unknownPlan(plan, await readPlanNames(redis));
  }
}

/** Lists a plan that was made with plain redis-cli, when a key is put on it. */
export async function listPlan(redis: RedisClient, { plan }: KeyLimits): Promise<void> {
  if (plan !== enterprisePlan) await redis.sadd(redisKeys.planNames, plan);
}
