import { defaultPlans, doubtfulPairs } from '../../limits/limits.ts';
import { forPlanFields } from '../../limits/shadow-limits.ts';
import type { Setting } from '../../platform/redis/define-setting.ts';
import { textFields } from '../../platform/redis/enforced-settings.ts';
import { planSetting } from '../../quota/plan-settings.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import type { Session } from '../session.ts';
import { readEnforcedValues } from './enforced-values.ts';
import { countPlanCustomers, findBusiestAbove, type CustomerAbove } from './plan-customers.ts';
import { comparePlanNames, type PlanNames } from './plan-names.ts';
import { sectionsOf, type PlansFile } from './plans-file.ts';
import { assertNoCustomers, assertRemovable } from './plans.ts';
import {
  diffSettings,
  readStored,
  removalOf,
  type SettingChange,
  type StoredSettings,
  type WantedSetting,
} from './settings.ts';

/** A change, and of a plan the number of its customers, and which of the busiest are above new limits. */
export type CountedChange = SettingChange & { customers?: number; above?: CustomerAbove[] };

/** What applying a file of plans would change. */
export interface PlansFileDiff {
  changes: CountedChange[];
  /** Stored plans that the file lacks, and that are not removed. */
  unlisted: string[];
  warnings: string[];
}

/**
 * Compares a file of plans with Redis. Changes nothing.
 * @param prune whether plans are removed that the file lacks
 * @throws InvalidOperation if a plan to remove is built in or has customers, or the Redis key of a setting is not a hash any more
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

  const concernsPlans = prune || changes.some(({ plan }) => plan !== undefined);
  const customers = concernsPlans ? await countPlanCustomers(redis) : new Map<string, number>();
  if (prune) {
    assertNoCustomers(customers, [...unlisted, ...plansWithout(file.plans ?? {}, names.enforcedOnly)]);
  }
  return {
    changes: await Promise.all(changes.map((change) => withCustomers(session, change, file, customers))),
    unlisted: prune ? [] : unlisted.filter((name) => !Object.hasOwn(defaultPlans, name)),
    warnings,
  };
}

async function withCustomers(
  session: Session,
  change: SettingChange,
  { plans = {} }: PlansFile,
  customers: ReadonlyMap<string, number>,
): Promise<CountedChange> {
  const { plan } = change;
  if (plan === undefined) return change;
  const above = await findBusiestAbove(session, plan, plans[plan] ?? {});
  return { ...change, customers: customers.get(plan) ?? 0, above };
}

/** Settings of a file, in its order. */
export function settingsOf(file: PlansFile): WantedSetting[] {
  const plans = Object.entries(file.plans ?? {}).map(([plan, limits]): [Setting, object] => [
    planSetting(plan),
    // A plan has no other limits than those of the file.
    forPlanFields((field) => limits[field] ?? ''),
  ]);
  return [...plans, ...sectionsOf(file)].flatMap(([setting, values]) =>
    values === undefined ? [] : [{ ...setting, wanted: textFields(values) }],
  );
}

function plansWithout(plans: object, names: readonly string[]): PlanNames['listed'] {
  return names.filter((name) => !Object.hasOwn(plans, name));
}

/** @throws InvalidOperation if a plan is built in, or the file has no plans at all */
function removals(file: PlansFile, names: readonly string[], stored: StoredSettings): SettingChange[] {
  if (file.plans === undefined) {
    throw new InvalidOperation('the file has no section plans: without it, no plan is removed');
  }
  return names.map((name) => {
    assertRemovable(name);
    const setting = planSetting(name);
    return removalOf(setting, stored.get(setting.key) ?? {});
  });
}
