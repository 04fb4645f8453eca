import { defaultPlans } from '../limits/limits.ts';
import { anonymousPlan, enterprisePlan, planSetting } from '../plans/plan-settings.ts';
import { readEnforcedValues } from './enforced-values.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { countPlanCustomers } from './plan-customers.ts';
import { comparePlanNames, unknownPlan } from './plan-names.ts';
import type { Session } from './session.ts';
import { removalOf, type SettingChange } from './settings-diff.ts';
import { writeSettings } from './write-settings.ts';

/**
 * Removes a plan that no customer is on. Gateways that run keep its limits until they end, but no customer can be put on it
 * any more. One that is put on it during the count is not seen.
 * @param ask called before the change; refuses it by throwing InvalidOperation. Then the customers are counted once more
 * @throws InvalidOperation if it is built in, does not exist, or has customers
 */
export async function removePlan(
  session: Session,
  name: string,
  ask?: () => Promise<void>,
): Promise<SettingChange> {
  const { redis } = session;
  assertRemovable(name);
  const setting = planSetting(name);
  const stored = await redis.hgetall(setting.key);
  const { listed, enforcedOnly } = await comparePlanNames(redis, await readEnforcedValues(session));
  if (Object.keys(stored).length === 0 && !listed.includes(name)) {
    if (!enforcedOnly.includes(name)) throw unknownPlan(name, listed, 'ops plans list shows all plans');
    throw new InvalidOperation(
      `${name} is not stored any more: running gateways keep its limits until they end`,
    );
  }
  assertNoCustomers(await countPlanCustomers(redis), [name]);
  if (ask !== undefined) {
    await ask();
    // The question may have been open for minutes.
    assertNoCustomers(await countPlanCustomers(redis), [name]);
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

/** @throws PlanInUse if customers are on one of the plans */
export function assertNoCustomers(customers: ReadonlyMap<string, number>, plans: readonly string[]): void {
  const used = plans.filter((name) => customers.has(name));
  const [first] = used;
  if (first === undefined) return;
  const counts = used.map((name) => {
    const count = customers.get(name) ?? 0;
    return `${count} ${count === 1 ? 'customer is' : 'customers are'} on ${name}`;
  });
  throw new PlanInUse(
    `${counts.join(', ')}: ops customers list --plan ${first} lists them, ops customers set CUSTOMER --plan PLAN moves one; ` +
      'no plan was removed',
    counts.join(', '),
  );
}

/** Customers are on a plan that is to be removed. */
export class PlanInUse extends InvalidOperation {
  /** How many customers are on which plan, without what to do. */
  readonly counts: string;

  constructor(message: string, counts: string) {
    super(message);
    this.counts = counts;
  }
}
