import { missingScopes, type ApiKeyRecord } from '../../keys/records.ts';
import { defaultPlans, type Limits } from '../../limits/limits.ts';
import { hasWindow, windowNames, windows } from '../../limits/windows.ts';
import { readProcessStatuses } from '../../platform/redis/process-statuses.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import {
  anonymousPlan,
  enterprisePlan,
  parsePlanLimits,
  planNamePattern,
} from '../../quota/plan-settings.ts';
import { InvalidOperation, IssueForOperators } from '../invalid-operation.ts';
import { anyLimit, readPlanLimits, readPlanNames, unknownPlan } from '../plans/plan-names.ts';

type KeyLimits = Limits & Pick<ApiKeyRecord, 'plan'>;
type KeyAccess = Limits & Pick<ApiKeyRecord, 'scopes'>;

/** @throws InvalidOperation as assertLimits and assertAccess do */
export async function assertPermitted(redis: RedisClient, key: KeyLimits & KeyAccess): Promise<void> {
  await assertLimits(redis, key);
  await assertAccess(redis, key);
}

/**
 * @throws InvalidOperation if the plan does not exist, is not set in Redis, or has invalid limits
 */
export async function assertLimits(redis: RedisClient, key: KeyLimits): Promise<void> {
  const { plan } = key;
  if (plan === enterprisePlan) {
    if (!hasWindow(key)) {
      throw new IssueForOperators(`an enterprise customer needs a limit of its own: ${anyLimit}`);
    }
    return;
  }
  const limits =
    plan === anonymousPlan || !planNamePattern.test(plan)
      ? {}
      : parsePlanLimits(plan, await readPlanLimits(redis, plan));
  if (!hasWindow(limits) || windowNames.some((name) => limits[name] === null)) {
    if (Object.hasOwn(defaultPlans, plan)) {
      throw new IssueForOperators(
        `the plan ${plan} has no valid limits in Redis: restore them with ops plans apply, or set them with ops plans set; see: ops plans list`,
      );
    }
    throw unknownPlan(plan, await readPlanNames(redis));
  }
}

/**
 * Compares scopes and own limits of a key with what the operations ask, which the gateways that run say.
 * @throws InvalidOperation for a scope that no operation needs, and for a limit that is less than one costs that the key may
 * call
 */
export async function assertAccess(redis: RedisClient, { scopes, ...limits }: KeyAccess): Promise<void> {
  const limited = windows.flatMap(({ name, each }) => {
    const limit = limits[name];
    return limit === undefined ? [] : [{ name, each, limit }];
  });
  if (scopes === undefined && limited.length === 0) return;
  const found = (await readProcessStatuses(redis)).flatMap(({ access }) => access ?? []);
  const known = new Set(found.flatMap((access) => access.scopes));
  const unknown = known.size === 0 ? undefined : scopes?.find((scope) => !known.has(scope));
  if (unknown !== undefined) {
    throw new InvalidOperation(
      `no operation needs the scope ${unknown}; known are ${[...known].toSorted().join(', ')}`,
    );
  }
  for (const { operation, units, scopes: needed } of found.flatMap(({ costs }) => costs)) {
    const below = limited.find(({ limit }) => limit < units);
    if (below === undefined || missingScopes(needed, scopes).length > 0) continue;
    throw new InvalidOperation(
      `${operation} costs ${units}, more than the limit of ${below.limit} ${below.each}: raise it, or give the key scopes without ${needed.join(' and ')}`,
    );
  }
}

/** Lists a plan that was made with plain redis-cli, when a customer is put on it. */
export async function listPlan(redis: RedisClient, { plan }: KeyLimits): Promise<void> {
  const isStored = plan !== enterprisePlan && (await redis.exists(redisKeys.plan(plan))) === 1;
  if (isStored) await redis.sadd(redisKeys.planNames, plan);
}
