import { z } from 'zod';
import { issueOf, maxLimit, parseLimit, type Limits, type SomeLimits } from '../limits/limits.ts';
import { anonymousField, anonymousWindow } from '../limits/setting-fields.ts';
import {
  byOptionalWindow,
  byRequiredWindow,
  eachExactly,
  requiredWindows,
  windowNames,
  windowOf,
  type WindowName,
} from '../limits/windows.ts';
import {
  defineSetting,
  fieldsSchema,
  mapping,
  numberValue,
  type Fields,
  type Reading,
  type Setting,
} from '../redis/define-setting.ts';
import { redisKeys } from '../redis/redis-keys.ts';

/** A valid name of a plan. */
export const planNamePattern = /^[a-z][a-z0-9-]{0,31}$/;

/** The plan without limits of its own: every key on it carries both. */
export const enterprisePlan = 'enterprise';

/** Not a plan for keys, but the limit of each address for requests without a valid key. */
export const anonymousPlan = 'anonymous';
/** Windows that a plan can have limits of. */
export const windowsOf = (plan: string): readonly WindowName[] =>
  plan === anonymousPlan ? [anonymousWindow] : windowNames;

/** Limits of the specification, section 8.2. Redis is seeded with them once, and decides from then on. */
export const defaultPlans: Readonly<Record<string, Limits>> = {
  free: { minute: 60, day: 1000 },
  pro: { minute: 300, day: 10_000 },
  business: { minute: 1000, day: 100_000 },
};

const limit = (window: WindowName) =>
  numberValue({ min: 1, max: maxLimit, meaning: `requests ${eachExactly(window)}` });
const optionalLimit = (window: WindowName) =>
  limit(window)
    .optional()
    .meta({ description: `requests ${eachExactly(window)}, if they are limited` });

/** Limits of a plan as they are in a file and in the operators' API. */
export const planValues = z
  .strictObject(
    { ...byRequiredWindow(limit), ...byOptionalWindow(optionalLimit) },
    mapping(`the fields ${requiredWindows.join(' and ')}`),
  )
  .meta({ description: 'limits of each API key on the plan that has none of its own' });

const newPlanSetting = (plan: string): Setting<SomeLimits> => ({
  name: `plans.${plan}`,
  key: redisKeys.plan(plan),
  plan,
  action: 'plans.set',
  seedAction: 'plans.seed',
  target: plan,
  defaults: defaultPlans[plan] ?? {},
  values: planValues,
  fields: planFields,
  required: requiredWindows,
  read: readLimits,
});

const planFields = fieldsSchema(planValues);

/** Each limit is valid by itself. */
function readLimits(fields: Fields): Reading<SomeLimits> {
  // A plan that is gone as a whole was lost, so that nothing was removed from it.
  const isGone = windowNames.every((name) => fields[name] === undefined);
  const found: SomeLimits = {};
  for (const name of windowNames) {
    const isRemoved = fields[name] === undefined && !isGone && !windowOf(name).required;
    const valid = parseLimit(fields[name]);
    if (isRemoved || valid !== undefined) found[name] = valid;
  }
  return { found, issues: windowNames.flatMap((name) => issueOf(name, fields[name]) ?? []) };
}

/** The limit of each address for requests without a valid key. */
export const anonymousSetting = defineSetting({
  name: 'anonymous',
  key: redisKeys.plan(anonymousPlan),
  action: 'plans.set',
  seedAction: 'plans.seed',
  target: anonymousPlan,
  title: 'limit of an address',
  advice: `set it with: ops plans set anonymous --minute ${anonymousField.default}`,
  values: z
    .strictObject({ [anonymousWindow]: numberValue(anonymousField) }, mapping('the field minute'))
    .meta({ description: 'limit of an address for requests without a valid API key' }),
  defaults: { [anonymousWindow]: anonymousField.default },
});

/** Settings of the plans that always exist, by name. `anonymous` is one of them. */
export const builtInPlans: ReadonlyMap<string, Setting<SomeLimits>> = new Map<string, Setting<SomeLimits>>([
  ...Object.keys(defaultPlans).map((name) => [name, newPlanSetting(name)] as const),
  [anonymousPlan, anonymousSetting],
]);

export const planSetting = (name: string) => builtInPlans.get(name) ?? newPlanSetting(name);

/** @returns the name of the plan, or nothing if it is the Redis key of something else */
export function planOfKey(key: string): string[] {
  const prefix = redisKeys.plan('');
  return key.startsWith(prefix) ? [key.slice(prefix.length)] : [];
}
