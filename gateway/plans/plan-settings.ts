import { z } from 'zod';
import { issueOf, limitIssue, maxLimit, parseLimit, type Limits } from '../limits/limits.ts';
import { anonymousField, anonymousWindow } from '../limits/setting-fields.ts';
import {
  byShadowField,
  planFields,
  shadowFields,
  shadowIssue,
  type PlanLimits,
} from '../limits/shadow-limits.ts';
import {
  byOptionalWindow,
  byRequiredWindow,
  eachExactly,
  requiredWindows,
  windowNames,
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
const shadowLimit = (window: WindowName) =>
  limit(window)
    .optional()
    .meta({ description: `requests ${eachExactly(window)} above which requests are counted, and served` });

/** Limits of a plan as they are in a file and in the operators' API. */
export const planValues = z
  .strictObject(
    { ...byRequiredWindow(limit), ...byOptionalWindow(optionalLimit), ...byShadowField(shadowLimit) },
    mapping(`the fields ${requiredWindows.join(' and ')}`),
  )
  .check(({ value, issues }) => {
    const message = shadowIssue(value);
    if (message !== undefined) issues.push({ code: 'custom', message, input: value });
  })
  .meta({ description: 'limits of each API key on the plan that has none of its own' });

const newPlanSetting = (plan: string): Setting<PlanLimits> => ({
  name: `plans.${plan}`,
  key: redisKeys.plan(plan),
  plan,
  action: 'plans.set',
  seedAction: 'plans.seed',
  target: plan,
  defaults: defaultPlans[plan] ?? {},
  values: planValues,
  fields: planFieldsSchema,
  required: requiredWindows,
  read: readLimits,
});

const planFieldsSchema = fieldsSchema(planValues);

/** Each limit is valid by itself. */
function readLimits(fields: Fields): Reading<PlanLimits> {
  // A plan that is gone as a whole was lost, so that nothing was removed from it.
  const isGone = windowNames.every((name) => fields[name] === undefined);
  const found: PlanLimits = {};
  for (const name of planFields) {
    const isRemoved = fields[name] === undefined && !isGone && !isRequired(name);
    const valid = parseLimit(fields[name]);
    if (isRemoved || valid !== undefined) found[name] = valid;
  }
  const issues = [...windowNames.map((name) => issueOf(name, fields[name])), ...shadowIssues(fields)];
  return { found, issues: issues.filter((issue) => issue !== undefined) };
}

const isRequired = (name: string) => requiredWindows.some((required) => required === name);

/** What is wrong with the shadow limits in the fields of a hash. */
export function shadowIssues(fields: Fields): (string | undefined)[] {
  const invalid = shadowFields.map((field) => {
    const text = fields[field];
    return text === undefined || parseLimit(text) !== undefined ? undefined : `${field} ${limitIssue}`;
  });
  return [...invalid, shadowIssue(fields)];
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
export const builtInPlans: ReadonlyMap<string, Setting<PlanLimits>> = new Map<string, Setting<PlanLimits>>([
  ...Object.keys(defaultPlans).map((name) => [name, newPlanSetting(name)] as const),
  [anonymousPlan, anonymousSetting],
]);

export const planSetting = (name: string) => builtInPlans.get(name) ?? newPlanSetting(name);

/** @returns the name of the plan, or nothing if it is the Redis key of something else */
export function planOfKey(key: string): string[] {
  const prefix = redisKeys.plan('');
  return key.startsWith(prefix) ? [key.slice(prefix.length)] : [];
}
