import { defaultPlans } from '../../limits/limits.ts';
import { anonymousPlan, enterprisePlan, planSetting } from '../../quota/plan-settings.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import type { Session } from '../session.ts';
import { readEnforcedValues } from './enforced-values.ts';
import { countPlanCustomers } from './plan-customers.ts';
import { comparePlanNames, unknownPlan } from './plan-names.ts';
import { removalOf, writeSettings, type SettingChange } from './settings.ts';

/**
 * Removes a plan that no customer is on. Gateways that run keep its limits until they end, but no customer can be put on it
 * any more. One that is put on it during the count is not seen.
 * @throws InvalidOperation if it is built in, does not exist, or has customers
 */
export async function removePlan(session: Session, name: string): Promise<SettingChange> {
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

/** @throws InvalidOperation if customers are on one of the plans */
export function assertNoCustomers(customers: ReadonlyMap<string, number>, plans: readonly string[]): void {
  const used = plans.filter((name) => customers.has(name));
  const counts = used.map((name) => {
    const count = customers.get(name) ?? 0;
    return `${count} ${count === 1 ? 'customer is' : 'customers are'} on ${name}`;
  });
  if (used.length > 0)
    throw new InvalidOperation(`${counts.join(', ')}: move them to another plan first; no plan was removed`);
}
