import { anonymousPlan, defaultPlans, enterprisePlan, planSetting } from '../plans/plan-settings.ts';
import { readEnforcedValues } from './enforced-values.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { planImpacts, type PlanImpact } from './plan-impact.ts';
import { comparePlanNames, unknownPlan } from './plan-names.ts';
import type { Session } from './session.ts';
import { removalOf, type SettingChange } from './settings-diff.ts';
import { readSettings } from './settings-hash.ts';
import { writeSettings } from './write-settings.ts';

/**
 * Removes a plan that no valid key is on. Gateways that run keep its limits until they end, but no key can be put on it
 * any more. A key that is put on it while the keys are counted is not seen.
 * @param ask called before the change; refuses it by throwing InvalidOperation. Then the keys are counted once more
 * @throws InvalidOperation if it is built in, does not exist, or has valid keys
 */
export async function removePlan(
  session: Session,
  name: string,
  ask?: () => Promise<void>,
): Promise<SettingChange> {
  const { redis } = session;
  assertRemovable(name);
  const setting = planSetting(name);
  const stored = await readSettings(redis, setting.key);
  const { listed, enforcedOnly } = await comparePlanNames(redis, await readEnforcedValues(session));
  if (Object.keys(stored).length === 0 && !listed.includes(name)) {
    if (!enforcedOnly.includes(name)) throw unknownPlan(name, listed, 'ops plans list shows all plans');
    throw new InvalidOperation(
      `${name} is not stored any more: running gateways keep its limits until they end`,
    );
  }
  assertNoKeys(await planImpacts(session), [name]);
  if (ask !== undefined) {
    await ask();
    // The question may have been open for minutes.
    assertNoKeys(await planImpacts(session), [name]);
  }
  const removal = removalOf(setting, stored);
  await writeSettings(session, [removal]);
  return removal;
}

/** @throws InvalidOperation for a plan that always exists */
export function assertRemovable(name: string): void {
  if (![...Object.keys(defaultPlans), anonymousPlan, enterprisePlan].includes(name)) return;
  throw new InvalidOperation(
    `${name} can't be removed: ${Object.keys(defaultPlans).join(', ')}, ${enterprisePlan} and ${anonymousPlan} always exist`,
  );
}

/** @throws InvalidOperation if valid keys are on one of the plans */
export function assertNoKeys(
  impacts: ReadonlyMap<string, Readonly<PlanImpact>>,
  plans: readonly string[],
): void {
  const used = plans.flatMap((name) => {
    const keys = impacts.get(name)?.keys ?? 0;
    return keys === 0 ? [] : [{ name, keys }];
  });
  const [first] = used;
  if (first === undefined) return;
  const counts = used.map(
    ({ name, keys }) => `${keys} valid ${keys === 1 ? 'key is' : 'keys are'} on ${name}`,
  );
  throw new PlanInUse(
    `${counts.join(', ')}: ops keys list --plan ${first.name} lists them, ops keys set ID --plan PLAN moves one; ` +
      'no plan was removed',
    counts.join(', '),
  );
}

/** Valid keys are on a plan that is to be removed. */
export class PlanInUse extends InvalidOperation {
  /** How many keys are on which plan, without what to do. */
  readonly counts: string;

  constructor(message: string, counts: string) {
    super(message);
    this.counts = counts;
  }
}
