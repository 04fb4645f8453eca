import type { ApiKeyRecord } from '../api-keys/api-key-record.ts';
import { completeLimits, issueOf, type SomeLimits } from '../limits/limits.ts';
import { windowNames } from '../limits/windows.ts';
import { anonymousPlan, defaultPlans, enterprisePlan } from '../plans/plans.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { readPlanNames } from './plan-names.ts';
import { readPlanLimits } from './plan-store.ts';
import { unknownPlan } from './unknown-plan.ts';

type KeyLimits = SomeLimits & Pick<ApiKeyRecord, 'plan'>;

/**
 * @throws InvalidOperation if the plan does not exist, is not set in Redis, or lacks a limit that the key does not set
 * itself
 */
export async function assertLimits(redis: RedisClient, key: KeyLimits): Promise<void> {
  const { plan } = key;
  if (plan === enterprisePlan) {
    if (completeLimits(key) === undefined) {
      throw new InvalidOperation(
        'an enterprise customer needs limits of its own, a minute and a day limit (--minute N --day N)',
      );
    }
    return;
  }
  const texts = plan === anonymousPlan ? {} : await readPlanLimits(redis, plan);
  if (windowNames.some((name) => issueOf(name, texts[name]) !== undefined)) {
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
