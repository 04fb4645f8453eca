import {
  byWindow,
  fieldOf,
  hasWindow,
  mapWindows,
  refusingWindow,
  windowNames,
  windowOf,
  type ByWindow,
  type WindowName,
  type WindowStates,
} from './windows.ts';

/** Requests allowed in each window of a plan or key. No limit for a window means that it allows any number. */
export type Limits = ByWindow<number>;

/** Limits of the specification, section 8.2. Redis is seeded with them once, and decides from then on. */
export const defaultPlans: Readonly<Record<string, Limits>> = {
  free: { minute: 60, day: 1000 },
  pro: { minute: 300, day: 10_000 },
  business: { minute: 1000, day: 100_000 },
};

/** A plan of another name may be that of something every object has, such as constructor. */
export const defaultLimits = (plan: string): Limits | undefined =>
  Object.hasOwn(defaultPlans, plan) ? defaultPlans[plan] : undefined;

/**
 * Windows of which a plan lacks a limit: those of its default that have none, or all if it has no default and no limit.
 * @param given limits by window, as numbers or texts
 */
export function lackingWindows(
  defaults: Limits | undefined,
  given: ByWindow<unknown>,
): readonly WindowName[] {
  if (defaults === undefined) return hasWindow(given) ? [] : windowNames;
  return windowNames.filter((name) => defaults[name] !== undefined && given[name] === undefined);
}

/** Largest valid limit. Far above any real plan, and exact in Lua and in JavaScript. */
export const maxLimit = 1_000_000_000;

export const limitIssue = `is not a whole number from 1 to ${maxLimit}`;

/** A limit as text, from Redis, the command line or a form: a whole number from 1 to {@link maxLimit}, or else undefined. */
export function parseLimit(text: string | null | undefined): number | undefined {
  return /^[1-9]\d{0,9}$/.test(text ?? '') && Number(text) <= maxLimit ? Number(text) : undefined;
}

/** Picks the limits out of a value that may have more. One that is invalid or missing may be null, and is left out. */
export function limitsIn(value: ByWindow<number | null>) {
  return byWindow((name) => value[name] ?? undefined);
}

/**
 * Describes limits as in "60 a minute, 1000 a day"; `null` and undefined count as no limit.
 * @param none words for no limit at all
 */
export function describeLimits(
  limits: ByWindow<number | null> = {},
  none = 'none',
  format: (limit: number) => string = String,
): string {
  const parts = mapWindows(limitsIn(limits), (limit, name) => `${format(limit)} ${windowOf(name).each}`);
  return Object.values(parts).join(', ') || none;
}

/** Field of a plan with a limit that is compared and not enforced, such as `shadowMinute`. */
type ShadowField = `shadow${Capitalize<WindowName>}`;

/** Field of a plan with a limit of a window, enforced or not. */
export type PlanField = WindowName | ShadowField;
export type ByPlanField<Value> = { [Field in PlanField]?: Value | undefined };
export type PlanLimits = ByPlanField<number>;

export const shadowField = (name: WindowName): ShadowField => fieldOf('shadow', name);
export const planFields: readonly PlanField[] = [...windowNames, ...windowNames.map(shadowField)];

/** Builds a value for each field of which `valueOf` has one. */
export function byPlanField<Value>(
  valueOf: (field: PlanField) => Value | undefined,
): Partial<Record<PlanField, Value>> {
  const values: Partial<Record<PlanField, Value>> = {};
  for (const field of planFields) {
    const value = valueOf(field);
    if (value !== undefined) values[field] = value;
  }
  return values;
}

/** Builds a value for each field. */
export function forPlanFields<Value>(valueOf: (field: PlanField) => Value): Record<PlanField, Value>;
export function forPlanFields(valueOf: (field: PlanField) => unknown): object {
  return Object.fromEntries(planFields.map((field) => [field, valueOf(field)]));
}

/** Builds a value for each shadow limit. */
export function byShadowField<Value>(valueOf: (name: WindowName) => Value): Record<ShadowField, Value>;
export function byShadowField(valueOf: (name: WindowName) => unknown): object {
  return Object.fromEntries(windowNames.map((name) => [shadowField(name), valueOf(name)]));
}

/** Shadow limits of a plan by their windows. */
export const shadowLimitsIn = (plan: ByPlanField<number | null>): Limits =>
  byWindow((name) => plan[shadowField(name)] ?? undefined);

/** `null` and a field that is not there are the same. */
export const equalPlanLimits = (
  one: ByPlanField<number | null>,
  other: ByPlanField<number | null>,
): boolean => planFields.every((field) => (one[field] ?? null) === (other[field] ?? null));

/** What is wrong with a shadow limit of a window that the plan does not limit: no use of it is counted. */
export function shadowIssue(plan: ByPlanField<unknown>): string | undefined {
  const name = windowNames.find(
    (name) => (plan[shadowField(name)] ?? null) !== null && (plan[name] ?? null) === null,
  );
  return name && `has ${shadowField(name)} and no ${name} limit: a shadow limit needs a limit of its window`;
}

/**
 * The window by which shadow limits of a plan would have refused a request that was served. All that was served counts, so
 * it tells more than they would refuse if requests differ in cost, or several windows have one.
 * @param own limits of the customer, in whose windows those of the plan do not count
 */
export function windowOverShadow(states: WindowStates, shadow: Limits, own: Limits): WindowName | undefined {
  const left = byWindow((name) => {
    const state = states[name];
    const limit = shadow[name];
    if (state === undefined || limit === undefined || own[name] !== undefined) return undefined;
    return { remaining: limit - (state.limit - state.remaining), resetMs: state.resetMs };
  });
  return refusingWindow(left, 0);
}
