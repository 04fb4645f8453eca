import { equalPlanLimits, shadowLimitsIn, type Limits, type PlanLimits } from '../limits/limits.ts';
import { byWindow, hasWindow } from '../limits/windows.ts';
import { mergeEnforced } from '../platform/redis/process-statuses.ts';
import {
  createLiveSetting,
  type LiveSetting,
  type LiveSettingDependencies,
} from '../platform/redis/settings.ts';
import {
  anonymousPlan,
  anonymousSetting,
  builtInPlans,
  enterprisePlan,
  planOfKey,
  planSetting,
} from './plan-settings.ts';

export type Plans = ReturnType<typeof createPlans>;

/** A key in use is read again, and its plan with it, more often than this. */
const inUseMs = 60_000;

interface PlansDependencies extends LiveSettingDependencies {
  /** By Redis' clock. */
  now: () => number;
  /** Called with the limits in force of each plan, at the start and at each change. */
  onLimits?: (plan: string, limits: PlanLimits) => void;
}

/** Plan limits as last read from Redis. `refresh` runs every half second, so a change is in force within one. */
export function createPlans({ now, onLimits, ...dependencies }: PlansDependencies) {
  const plans = new Map<string, LiveSetting<PlanLimits>>();
  const shadows = new Map<string, Limits>();
  /** Time at which a key on an operator's own plan was last read. */
  const usedAtMs = new Map<string, number>();
  for (const name of builtInPlans.keys()) add(name);

  function add(name: string): LiveSetting<PlanLimits> {
    let known: PlanLimits = {};
    const plan = createLiveSetting({
      ...dependencies,
      setting: planSetting(name),
      onChange(limits) {
        if (equalPlanLimits(limits, known)) return;
        onLimits?.(name, limits);
        known = limits;
        const shadow = shadowLimitsIn(limits);
        if (Object.keys(shadow).length === 0) shadows.delete(name);
        else shadows.set(name, shadow);
      },
      // An operator's own plan is reported only while keys on it are in use.
      isInUse: () => builtInPlans.has(name) || now() - (usedAtMs.get(name) ?? -Infinity) < inUseMs,
    });
    plans.set(name, plan);
    return plan;
  }

  return {
    /**
     * Limits of a key: its own, or else its plan's.
     * @returns undefined if those of the plan are not known, for example because it does not exist
     */
    limitsOf(key: Limits & { plan: string }): Limits | undefined {
      const limits = key.plan === enterprisePlan ? key : (plans.get(key.plan)?.current() ?? {});
      if (!hasWindow(limits)) return undefined;
      return hasWindow(key) ? byWindow((window) => key[window] ?? limits[window]) : limits;
    },
    /** Shadow limits of a plan; undefined if it has none. */
    shadowLimitsOf: (plan: string) => shadows.get(plan),
    /** Requests a minute that one address may make without a valid key. */
    anonymousMinute: () => plans.get(anonymousPlan)?.current().minute ?? anonymousSetting.defaults.minute,
    /** Reads a plan that is not loaded yet. Called for the plan of each key that is read. */
    async ensureLoaded(name: string): Promise<void> {
      if (name === enterprisePlan) return;
      if (!builtInPlans.has(name)) usedAtMs.set(name, now());
      await (plans.get(name) ?? add(name)).ensureRead();
    },
    /** Reads all loaded plans again. Never rejects. */
    async refresh(): Promise<void> {
      if (Array.from(plans.values()).some((plan) => plan.lacksValues())) {
        // Also plans of which no key was read here: the gateways that know them may end before.
        const others = (await dependencies.readOthers()).flatMap(({ known }) => Object.keys(known));
        for (const name of others.flatMap(planOfKey)) if (!plans.has(name)) add(name);
      }
      await Promise.all(Array.from(plans.values(), (plan) => plan.refresh()));
    },
    /** Limits in force by the Redis key of the plan. */
    enforced: () => mergeEnforced(Array.from(plans.values(), (plan) => plan.enforced())),
  };
}
