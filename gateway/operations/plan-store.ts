import { parseLimit, type Limits } from '../plans/limits.ts';
import { anonymousPlan, defaultPlans, enterprisePlan } from '../plans/plans.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import type { RecordChange } from './audit-log.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { changeSettings } from './settings-hash.ts';

/** A plan as operators see it. Null is a limit that the plan does not have, or an invalid one. */
export interface PlanRow {
  name: string;
  minute: number | null;
  day: number | null;
}

export interface PlanStore {
  list(): Promise<PlanRow[]>;
  /**
   * Changes a plan, or makes it. In force on all gateways within a second; counters are kept.
   * @throws InvalidOperation for enterprise, which has no limits, for an invalid name, and for a day limit on anonymous
   */
  set(name: string, limits: Partial<Limits>): Promise<PlanRow>;
}

const namePattern = /^[a-z][a-z0-9-]{0,31}$/;

export function createPlanStore({ redis, audit }: { redis: RedisClient; audit: RecordChange }): PlanStore {
  async function readRow(name: string): Promise<PlanRow> {
    return parseRow(name, await readPlanLimits(redis, name));
  }

  return {
    async list() {
      const known = await redis.smembers(redisKeys.planNames);
      const others = known.filter((name) => !Object.hasOwn(defaultPlans, name)).toSorted();
      const plans = await Promise.all([...Object.keys(defaultPlans), ...others].map(readRow));
      return [...plans, { name: enterprisePlan, minute: null, day: null }, await readRow(anonymousPlan)];
    },
    async set(name, limits) {
      assertPlan(name, limits);
      let after: PlanRow = { name, minute: null, day: null };
      await changeSettings(redis, redisKeys.plan(name), async (fields) => {
        const before = parseRow(name, [fields['minute'], fields['day']]);
        after = { ...before, ...limits };
        await audit({ action: 'plans.set', target: name, before: isEmpty(before) ? null : before, after });
        return Object.fromEntries(Object.entries(limits).map(([field, value]) => [field, String(value)]));
      });
      if (name !== anonymousPlan) await redis.sadd(redisKeys.planNames, name);
      return after;
    },
  };
}

/**
 * Checks the input of PlanStore.set.
 * @throws InvalidOperation as PlanStore.set does
 */
export function assertPlan(name: string, { minute, day }: Partial<Limits>): void {
  if (name === enterprisePlan) {
    throw new InvalidOperation(
      'enterprise has no limits of its own: set them on each key, with ops keys set',
    );
  }
  if (!namePattern.test(name)) {
    throw new InvalidOperation(
      `${JSON.stringify(name)} is not a valid plan name: use up to 32 lower-case letters, digits and dashes`,
    );
  }
  if (name === anonymousPlan) {
    if (day !== undefined) throw new InvalidOperation('anonymous has a minute limit only');
    if (minute === undefined) throw new InvalidOperation('anonymous needs --minute N');
  } else if (minute === undefined || day === undefined) {
    throw new InvalidOperation('a plan needs both limits: --minute N --day N');
  }
}

/** Whether a limit that gateways need is missing or invalid. */
export function lacksLimits({ name, minute, day }: PlanRow): boolean {
  if (name === enterprisePlan) return false;
  return minute === null || (day === null && name !== anonymousPlan);
}

function parseRow(name: string, [minute, day]: (string | null | undefined)[]): PlanRow {
  return { name, minute: parseLimit(minute) ?? null, day: parseLimit(day) ?? null };
}

function isEmpty({ minute, day }: PlanRow): boolean {
  return minute === null && day === null;
}

/** Reads the fields `minute` and `day` of a plan as text. A value of another type has no limits. */
export async function readPlanLimits(redis: RedisClient, name: string): Promise<(string | null)[]> {
  try {
    return await redis.hmget(redisKeys.plan(name), 'minute', 'day');
  } catch (error) {
    if (isWrongType(error)) return [];
    throw error;
  }
}
