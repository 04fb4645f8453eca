import type { Limits } from './limits.ts';
import { refusingWindow, type WindowStates } from './window-states.ts';
import { byWindow, fieldOf, windowNames, type WindowName } from './windows.ts';

/** Field of a plan with a limit that is compared and not enforced, such as `shadowMinute`. */
export type ShadowField = `shadow${Capitalize<WindowName>}`;

/** Field of a plan with a limit of a window, enforced or not. */
export type PlanField = WindowName | ShadowField;
export type ByPlanField<Value> = { [Field in PlanField]?: Value | undefined };
export type PlanLimits = ByPlanField<number>;

export const shadowField = (name: WindowName): ShadowField => fieldOf('shadow', name);
export const shadowFields: readonly ShadowField[] = windowNames.map(shadowField);
export const planFields: readonly PlanField[] = [...windowNames, ...shadowFields];

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
export function forPlanFields<Value>(valueOf: (field: PlanField) => Value): Record<PlanField, Value> {
  const values = byPlanField(valueOf);
  if (!isForAll(values)) throw new TypeError('a field has no value');
  return values;
}

const isForAll = <Value>(values: ByPlanField<Value>): values is Record<PlanField, Value> =>
  planFields.every((field) => values[field] !== undefined);

/** Builds a value for each shadow limit. */
export function byShadowField<Value>(valueOf: (name: WindowName) => Value): Record<ShadowField, Value> {
  const values = Object.fromEntries(windowNames.map((name) => [shadowField(name), valueOf(name)]));
  if (!hasShadows(values)) throw new TypeError('a shadow limit has no value');
  return values;
}

const hasShadows = <Value>(values: Record<string, Value>): values is Record<ShadowField, Value> =>
  shadowFields.every((field) => Object.hasOwn(values, field));

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
 * The window by which shadow limits of a plan would have refused a request that was served.
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
