import type { FaultReport } from '../observability/invalid-values.ts';
import { seedSettings } from '../operations/settings-hash.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType, settleUnlessUnreachable } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { maxLimit, parseLimit, type Limits } from './limits.ts';

/** Limits of the specification, section 8.2: seeded once, then Redis has the say. */
export const defaultPlans: Readonly<Record<string, Limits>> = {
  free: { minute: 60, day: 1000 },
  pro: { minute: 300, day: 10_000 },
  business: { minute: 1000, day: 100_000 },
};

/** The plan without limits of its own: every key on it carries both. */
export const enterprisePlan = 'enterprise';

/** Not a plan for keys: the limit of each address for requests without a valid key; `minute` alone. */
export const anonymousPlan = 'anonymous';
const defaultAnonymousMinute = 60;

/** Writes the defaults where Redis has no value yet. Never overwrites what operators have set. */
export async function seedPlans(redis: RedisClient): Promise<void> {
  await settleUnlessUnreachable([
    ...Object.entries(defaultPlans).flatMap(([name, { minute, day }]) => [
      redis.sadd(redisKeys.planNames, name),
      seedSettings(redis, redisKeys.plan(name), { minute, day }),
    ]),
    seedSettings(redis, redisKeys.plan(anonymousPlan), { minute: defaultAnonymousMinute }),
  ]);
}

export interface Plans {
  /**
   * Limits of a key: its own where it has them, else its plan's.
   * Undefined where neither is known, as for a plan that does not exist.
   */
  limitsOf(key: { plan: string; minute?: number | undefined; day?: number | undefined }): Limits | undefined;
  /** Requests a minute that one address may make without a valid key. */
  anonymousMinute(): number;
  /** Told of a plan that a key is on: reads it where it is new, and tells of what is wrong with it. */
  learn(name: string): Promise<void>;
  /** Reads all plans again. Never rejects: a value that can't be read or used leaves the last good one. */
  refresh(): Promise<void>;
}

/** A key in use is read again, and its plan learned, more often. */
const inUseMs = 60_000;

interface PlansDependencies {
  redis: RedisClient;
  faults: FaultReport;
  now: () => number;
}

/** Plan limits as last read from Redis. Called every half second, `refresh` brings a change within one. */
export function createPlans({ redis, faults, now }: PlansDependencies): Plans {
  const limits = new Map<string, Partial<Limits>>(Object.entries(defaultPlans));
  /** Of plans that operators have made: when a key on one was last read. */
  const usedAtMs = new Map<string, number>();
  let anonymousMinute = defaultAnonymousMinute;

  /** What is wrong with a plan that operators have made is of no interest where no key is on it any more. */
  function report(name: string, found: string[]): void {
    const key = redisKeys.plan(name);
    const usedMs = usedAtMs.get(name);
    if (usedMs === undefined || now() - usedMs < inUseMs) faults.report(key, found);
    else faults.forget(key);
  }

  async function refreshPlan(name: string): Promise<void> {
    const values = await readFields(name, ['minute', 'day']);
    if (values === undefined) return;
    const [minute, day] = values;
    const lastGood = limits.get(name);
    limits.set(name, {
      ...lastGood,
      ...(minute === undefined ? {} : { minute }),
      ...(day === undefined ? {} : { day }),
    });
  }

  async function refreshAnonymous(): Promise<void> {
    const values = await readFields(anonymousPlan, ['minute']);
    anonymousMinute = values?.[0] ?? anonymousMinute;
  }

  /** Undefined as a whole where Redis gave no answer, in place of one field where that field is no limit. */
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
      fields.flatMap((field, index) =>
        values[index] === undefined
          ? [
              `${field} ${texts[index] === null ? 'is missing' : `is not a whole number from 1 to ${maxLimit}`}`,
            ]
          : [],
      ),
    );
    return values;
  }

  return {
    limitsOf({ plan, minute, day }) {
      const ofPlan = plan === enterprisePlan ? undefined : limits.get(plan);
      const minuteLimit = minute ?? ofPlan?.minute;
      const dayLimit = day ?? ofPlan?.day;
      if (minuteLimit === undefined || dayLimit === undefined) return undefined;
      return { minute: minuteLimit, day: dayLimit };
    },
    anonymousMinute: () => anonymousMinute,
    async learn(name) {
      if (name === enterprisePlan) return;
      if (!Object.hasOwn(defaultPlans, name)) usedAtMs.set(name, now());
      if (!limits.has(name)) await refreshPlan(name);
    },
    async refresh() {
      await Promise.all([refreshAnonymous(), ...Array.from(limits.keys(), refreshPlan)]);
    },
  };
}
