import type { InvalidValues } from '../observability/invalid-values.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { ignoreWrongTypes, isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { seedSettings } from '../redis/seed-settings.ts';
import { maxLimit, parseLimit, type Limits } from './limits.ts';

/** Limits of the specification, section 8.2. Redis is seeded with them once, and decides from then on. */
export const defaultPlans: Readonly<Record<string, Limits>> = {
  free: { minute: 60, day: 1000 },
  pro: { minute: 300, day: 10_000 },
  business: { minute: 1000, day: 100_000 },
};

/** The plan without limits of its own: every key on it carries both. */
export const enterprisePlan = 'enterprise';

/** Not a plan for keys, but the limit of each address for requests without a valid key; has `minute` only. */
export const anonymousPlan = 'anonymous';
const defaultAnonymousMinute = 60;

/** Writes the defaults if Redis has no values yet. Never overwrites an operator's value. */
export async function seedPlans(redis: RedisClient): Promise<void> {
  await ignoreWrongTypes([
    ...Object.entries(defaultPlans).flatMap(([name, { minute, day }]) => [
      redis.sadd(redisKeys.planNames, name),
      seedSettings(redis, redisKeys.plan(name), { minute, day }),
    ]),
    seedSettings(redis, redisKeys.plan(anonymousPlan), { minute: defaultAnonymousMinute }),
  ]);
}

export interface Plans {
  /**
   * Limits of a key: its own, or else its plan's.
   * @returns undefined if neither is known, for example because the plan does not exist
   */
  limitsOf(key: { plan: string; minute?: number | undefined; day?: number | undefined }): Limits | undefined;
  /** Requests a minute that one address may make without a valid key. */
  anonymousMinute(): number;
  /** Reads a plan that is not loaded yet. Called for the plan of each key that is read. */
  ensureLoaded(name: string): Promise<void>;
  /** Reads all loaded plans again. Never rejects: an unreadable or invalid value leaves the last valid one. */
  refresh(): Promise<void>;
}

/** A key in use is read again, and its plan with it, more often than this. */
const inUseMs = 60_000;

interface PlansDependencies {
  redis: RedisClient;
  invalidValues: InvalidValues;
  now: () => number;
}

/** Plan limits as last read from Redis. `refresh` runs every half second, so a change is in force within one. */
export function createPlans({ redis, invalidValues, now }: PlansDependencies): Plans {
  const limits = new Map<string, Partial<Limits>>(Object.entries(defaultPlans));
  /** Time at which a key on an operator's own plan was last read. */
  const usedAtMs = new Map<string, number>();
  let anonymousMinute = defaultAnonymousMinute;

  /** An operator's own plan is reported only while keys on it are in use. */
  function report(name: string, issues: string[]): void {
    const key = redisKeys.plan(name);
    const usedMs = usedAtMs.get(name);
    if (usedMs === undefined || now() - usedMs < inUseMs) invalidValues.report(key, issues);
    else invalidValues.forget(key);
  }

  async function refreshPlan(name: string): Promise<void> {
    const values = await readFields(name, ['minute', 'day']);
    if (values === undefined) return;
    const [minute, day] = values;
    const lastValid = limits.get(name);
    limits.set(name, {
      ...lastValid,
      ...(minute === undefined ? {} : { minute }),
      ...(day === undefined ? {} : { day }),
    });
  }

  async function refreshAnonymous(): Promise<void> {
    const values = await readFields(anonymousPlan, ['minute']);
    anonymousMinute = values?.[0] ?? anonymousMinute;
  }

  /** @returns undefined if Redis is unavailable; an undefined element for a field that is not a limit */
  async function readFields(name: string, fields: string[]): Promise<(number | undefined)[] | undefined> {
    let texts: (string | null)[];
    try {
      texts = await redis.hmget(redisKeys.plan(name), ...fields);
    } catch (error) {
      if (isWrongType(error)) report(name, ['is not a hash']);
      return undefined;
    }
    const values = texts.map(parseLimit);
    report(
      name,
      fields.flatMap((field, index) => {
        if (values[index] !== undefined) return [];
        return texts[index] === null
          ? [`${field} is missing`]
          : [`${field} is not a whole number from 1 to ${maxLimit}`];
      }),
    );
    return values;
  }

  return {
    limitsOf({ plan, minute, day }) {
      const planLimits = plan === enterprisePlan ? undefined : limits.get(plan);
      const minuteLimit = minute ?? planLimits?.minute;
      const dayLimit = day ?? planLimits?.day;
      if (minuteLimit === undefined || dayLimit === undefined) return undefined;
      return { minute: minuteLimit, day: dayLimit };
    },
    anonymousMinute: () => anonymousMinute,
    async ensureLoaded(name) {
      if (name === enterprisePlan) return;
      if (!Object.hasOwn(defaultPlans, name)) usedAtMs.set(name, now());
      if (!limits.has(name)) await refreshPlan(name);
    },
    async refresh() {
      await Promise.all([refreshAnonymous(), ...Array.from(limits.keys(), refreshPlan)]);
    },
  };
}
