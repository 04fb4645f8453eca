import { parseLimit, type Limits } from '../plans/limits.ts';
import { anonymousPlan, builtInLimits, defaultPlans, enterprisePlan, planOfKey } from '../plans/plans.ts';
import { textFields } from '../redis/enforced-settings.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { readEnforcedValues, type EnforcedValues } from './enforced-values.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { nearestName } from './nearest-name.ts';
import type { Session } from './session.ts';
import { changeSettings } from './settings-hash.ts';

/** A plan as operators see it. Null is a limit that the plan does not have, or an invalid one. */
export interface PlanRow {
  name: string;
  minute: number | null;
  day: number | null;
}

/** A plan with what running gateways enforce, if that is not what is stored: each different value once. */
export interface ListedPlan extends PlanRow {
  enforced?: Pick<PlanRow, 'minute' | 'day'>[];
}

export interface PlanStore {
  list(): Promise<ListedPlan[]>;
  /**
   * Changes a plan. In force on all gateways within a second; counters are kept.
   * @param create makes the plan if it does not exist
   * @throws InvalidOperation as assertPlan and assertExists do
   */
  set(name: string, limits: Partial<Limits>, create: boolean): Promise<PlanRow>;
  /** @throws InvalidOperation for a plan that does not exist, with the name of the nearest one that does */
  assertExists(name: string): Promise<void>;
}

const namePattern = /^[a-z][a-z0-9-]{0,31}$/;

export function createPlanStore({ redis, audit, now }: Session): PlanStore {
  async function readRow(name: string, enforced: EnforcedValues): Promise<ListedPlan> {
    const row = parseRow(name, await readPlanLimits(redis, name));
    const inForce = enforced.of(redisKeys.plan(name)).map(({ minute, day }) => parseRow(name, [minute, day]));
    if (inForce.every(({ minute, day }) => minute === row.minute && day === row.day)) return row;
    return { ...row, enforced: inForce.map(({ minute, day }) => ({ minute, day })) };
  }

  async function assertExists(name: string): Promise<void> {
    const [listed, enforced, stored] = await Promise.all([
      redis.smembers(redisKeys.planNames),
      readEnforcedValues({ redis, now }),
      redis.exists(redisKeys.plan(name)),
    ]);
    const names = [...Object.keys(builtInLimits), ...listed, ...enforced.keys.flatMap(planOfKey)];
    if (stored === 1 || names.includes(name)) return;
    const near = nearestName(name, names);
    const hint = near === undefined ? '' : ` did you mean "${near}"?`;
    throw new InvalidOperation(`there is no plan named "${name}";${hint} --create makes a new plan`);
  }

  return {
    assertExists,
    async list() {
      const [listed, enforced] = await Promise.all([
        redis.smembers(redisKeys.planNames),
        readEnforcedValues({ redis, now }),
      ]);
      // Without gw:plans, only the gateways know the operators' own plans.
      const names = new Set(listed.length > 0 ? listed : enforced.keys.flatMap(planOfKey));
      const others = [...names].filter((name) => !Object.hasOwn(builtInLimits, name)).toSorted();
      const readRows = (plans: string[]) => Promise.all(plans.map((name) => readRow(name, enforced)));
      const plans = await readRows([...Object.keys(defaultPlans), ...others]);
      const enterprise = { name: enterprisePlan, minute: null, day: null };
      return [...plans, enterprise, ...(await readRows([anonymousPlan]))];
    },
    async set(name, limits, create) {
      assertPlan(name, limits);
      if (!create) await assertExists(name);
      let after: PlanRow = { name, minute: null, day: null };
      await changeSettings(redis, redisKeys.plan(name), async (fields) => {
        const before = parseRow(name, [fields['minute'], fields['day']]);
        after = { ...before, ...limits };
        await audit({ action: 'plans.set', target: name, before: isEmpty(before) ? null : before, after });
        return textFields(limits);
      });
      if (name !== anonymousPlan) await redis.sadd(redisKeys.planNames, name);
      return after;
    },
  };
}

/**
 * Checks the input of PlanStore.set.
 * @throws InvalidOperation for enterprise, which has no limits, for an invalid name, and for a day limit on anonymous
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
