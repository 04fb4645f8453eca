import { z } from 'zod';
import {
  byPlanField,
  byShadowField,
  defaultLimits,
  defaultPlans,
  lackingWindows,
  limitIssue,
  maxLimit,
  parseLimit,
  planFields,
  shadowIssue,
  type ByPlanField,
  type PlanField,
  type PlanLimits,
} from '../limits/limits.ts';
import { anonymousField, anonymousWindow } from '../limits/setting-fields.ts';
import { eachExactly, forAll, hasWindow, windowNames, type WindowName } from '../limits/windows.ts';
import { redisKeys } from '../platform/redis/redis-keys.ts';
import {
  defineSetting,
  fieldsSchema,
  mapping,
  numberValue,
  type Fields,
  type Reading,
  type Setting,
} from '../platform/redis/settings.ts';

/** A valid name of a plan. */
export const planNamePattern = /^[a-z][a-z0-9-]{0,31}$/;
export const planNameIssue =
  'is not a valid plan name: use up to 32 lower-case letters, digits and dashes, and begin with a letter';

/** The plan without limits of its own: every key on it carries both. */
export const enterprisePlan = 'enterprise';

/** Not a plan for keys, but the limit of each address for requests without a valid key. */
export const anonymousPlan = 'anonymous';
/** Windows that a plan can have limits of. */
export const windowsOf = (plan: string): readonly WindowName[] =>
  plan === anonymousPlan ? [anonymousWindow] : windowNames;

function limit(window: WindowName, more = '') {
  const description = `requests ${eachExactly(window)}${more}`;
  return numberValue({ min: 1, max: maxLimit, meaning: description }).optional().meta({ description });
}

/** Limits of a plan as they are in a file and in the operators' API. */
export const planValues = z
  .strictObject(
    {
      ...forAll((window) => limit(window)),
      ...byShadowField((window) => limit(window, ' above which requests are counted, and served')),
    },
    mapping(`limits by window, such as ${windowNames.join(', ')}`),
  )
  .check(({ value, issues }) => {
    const message = shadowIssue(value);
    if (message !== undefined) issues.push({ code: 'custom', message, input: value });
  })
  .meta({
    description: 'limits of each API key on the plan that has none of its own',
    anyOf: windowNames.map((name) => ({ required: [name] })),
  });

function newPlanSetting(plan: string): Setting<PlanLimits> {
  const values = planValues.check(({ value, issues }) => {
    for (const { path, message } of lackingIssues(plan, value))
      issues.push({ code: 'custom', path, message, input: value });
  });
  return {
    name: `plans.${plan}`,
    key: redisKeys.plan(plan),
    plan,
    action: 'plans.set',
    seedAction: 'plans.seed',
    target: plan,
    defaults: defaultLimits(plan) ?? {},
    values,
    fields: fieldsSchema(values),
    read: (fields) => readLimits(plan, fields),
  };
}

const lackingOf = (plan: string, given: ByPlanField<unknown>) =>
  lackingWindows(plan === anonymousPlan ? anonymousSetting.defaults : defaultLimits(plan), given);

/** What is wrong with a plan that lacks limits, by field. */
export function lackingIssues(
  plan: string,
  given: ByPlanField<unknown>,
): { path: string[]; message: string }[] {
  const lacking = lackingOf(plan, given);
  if (lacking.length === windowNames.length) return [{ path: [], message: 'has no limit' }];
  return lacking.map((name) => ({ path: [name], message: 'is missing' }));
}

/** Parses the limits of a plan, which may have been edited by hand. Null is one that is invalid, or that the plan lacks. */
export function parsePlanLimits(
  plan: string,
  texts: ByPlanField<string>,
): Partial<Record<PlanField, number | null>> {
  const lacking = lackingOf(plan, texts);
  return byPlanField((field) => {
    const text = texts[field];
    if (text !== undefined) return parseLimit(text) ?? null;
    return lacking.some((name) => name === field) ? null : undefined;
  });
}

/**
 * What is wrong with the limits of a plan in the fields of its hash.
 * @param shown words for an invalid text, which may be anything: not for a log
 */
export function planIssues(
  plan: string,
  texts: ByPlanField<string>,
  shown: (text: string | undefined) => string = () => '',
): string[] {
  const limits = parsePlanLimits(plan, texts);
  const invalid = planFields.filter((field) => texts[field] !== undefined && limits[field] === null);
  const shadow = shadowIssue(texts);
  return [
    ...lackingIssues(plan, texts).map(({ path, message }) => [...path, message].join(' ')),
    ...invalid.map((field) => `${field} ${limitIssue}${shown(texts[field])}`),
    ...(shadow === undefined ? [] : [shadow]),
  ];
}

/** Each limit is valid by itself. */
function readLimits(plan: string, fields: Fields): Reading<PlanLimits> {
  const limits = parsePlanLimits(plan, fields);
  // A plan that is gone as a whole was lost, so that nothing was removed from it.
  const isGone = !hasWindow(fields);
  const found: PlanLimits = {};
  for (const field of planFields) {
    const limit = limits[field];
    if (limit !== null && !(isGone && limit === undefined)) found[field] = limit;
  }
  // A limit that is invalid may be the one that matters, so all that are set have to be known.
  const set = defaultLimits(plan) ?? fields;
  const required = windowNames.filter((name) => Object.hasOwn(set, name));
  return { found, issues: planIssues(plan, fields), required };
}

/** The limit of each address for requests without a valid key. */
export const anonymousSetting = defineSetting({
  name: 'anonymous',
  key: redisKeys.plan(anonymousPlan),
  action: 'plans.set',
  seedAction: 'plans.seed',
  target: anonymousPlan,
  title: 'limit of an address',
  advice: `set it with: ops policy set --anonymous-minute ${anonymousField.default}`,
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

/** Fields of an object that may have a value for each window. */
export function windowFields<Schema extends z.ZodType>(schemaOf: (name: WindowName) => Schema) {
  return forAll((name) => z.exactOptional(schemaOf(name)));
}
