import { completeLimits, doubtfulPairs, type Limits } from '../limits/limits.ts';
import { defaultPlans, planSetting } from '../plans/plan-settings.ts';
import type { Fields } from '../redis/define-setting.ts';
import { readEnforcedValues } from './enforced-values.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { noImpact, planImpacts, type PlanImpact } from './plan-impact.ts';
import { comparePlanNames, type PlanNames } from './plan-names.ts';
import type { PlansFile } from './plans-file-schema.ts';
import { assertNoKeys, assertRemovable } from './remove-plan.ts';
import type { Session } from './session.ts';
import { diffSettings, readStored, removalOf, settingsOf, type SettingChange } from './settings-diff.ts';

/** A change, and for a plan its keys and what the new limits would mean for them. */
export type ImpactOfChange = SettingChange & { impact?: Readonly<PlanImpact> };

/** What applying a file of plans would change. */
export interface PlansFileDiff {
  changes: ImpactOfChange[];
  /** Stored plans that the file lacks, and that are not removed. */
  unlisted: string[];
  warnings: string[];
}

/**
 * Compares a file of plans with Redis. Changes nothing.
 * @param prune whether plans are removed that the file lacks
 * @throws InvalidOperation if a plan to remove is built in or has valid keys, or the Redis key of a setting is not a hash any more
 */
export async function diffPlansFile(
  session: Session,
  file: PlansFile,
  prune: boolean,
): Promise<PlansFileDiff> {
  const { redis } = session;
  const wanted = settingsOf(file);
  const names = await comparePlanNames(redis, await readEnforcedValues(session));
  const unlisted = file.plans === undefined ? [] : plansWithout(file.plans, names.listed);
  const stored = await readStored(redis, [...wanted, ...unlisted.map(planSetting)]);
  const removed = prune ? removals(file, unlisted, stored) : [];
  const changes = [...diffSettings(stored, wanted), ...removed];
  const warnings = Object.entries(file.plans ?? {}).flatMap(([name, limits]) => doubtfulPairs(name, limits));

  const concernsKeys = prune || changes.some(({ plan }) => plan !== undefined);
  const impacts = concernsKeys
    ? await planImpacts(session, newLimits(changes, file))
    : new Map<string, PlanImpact>();
  if (prune) assertNoKeys(impacts, [...unlisted, ...plansWithout(file.plans ?? {}, names.enforcedOnly)]);
  return {
    changes: changes.map((change) => withImpact(change, impacts)),
    unlisted: prune ? [] : unlisted.filter((name) => !Object.hasOwn(defaultPlans, name)),
    warnings,
  };
}

function withImpact(
  change: SettingChange,
  impacts: ReadonlyMap<string, Readonly<PlanImpact>>,
): ImpactOfChange {
  return change.plan === undefined ? change : { ...change, impact: impacts.get(change.plan) ?? noImpact };
}

function plansWithout(plans: object, names: readonly string[]): PlanNames['listed'] {
  return names.filter((name) => !Object.hasOwn(plans, name));
}

/** @throws InvalidOperation if a plan is built in, or the file has no plans at all */
function removals(
  file: PlansFile,
  names: readonly string[],
  stored: ReadonlyMap<string, Fields>,
): SettingChange[] {
  if (file.plans === undefined) {
    throw new InvalidOperation('the file has no section plans: without it, no plan is removed');
  }
  return names.map((name) => {
    assertRemovable(name);
    const setting = planSetting(name);
    return removalOf(setting, stored.get(setting.key) ?? {});
  });
}

function newLimits(changes: readonly SettingChange[], { plans = {} }: PlansFile): Map<string, Limits> {
  const changed = new Set(changes.map(({ plan }) => plan));
  return new Map(
    Object.entries(plans).flatMap(([name, plan]) => {
      const limits = completeLimits(plan);
      return changed.has(name) && limits !== undefined ? [[name, limits]] : [];
    }),
  );
}
