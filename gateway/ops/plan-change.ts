import { knownIn } from '../limits/limits.ts';
import { planFields } from '../limits/shadow-limits.ts';
import { countPlanCustomers, findBusiestAbove, type CustomerAbove } from '../operations/plan-customers.ts';
import type { PlanChange } from '../operations/plans.ts';
import type { Session } from '../operations/session.ts';
import { print, printJson } from './output.ts';
import { describeAbove, formatFields } from './setting-changes.ts';

/** How many customers a plan has, and which of the busiest are above new limits of it. */
interface CustomersPreview {
  customers: number;
  above: CustomerAbove[];
}

/** No customer is on anonymous. */
export async function previewCustomers(
  session: Session,
  { after: { name, ...after } }: PlanChange,
): Promise<CustomersPreview> {
  const customers = (await countPlanCustomers(session.redis)).get(name) ?? 0;
  return { customers, above: await findBusiestAbove(session, name, knownIn(after)) };
}

/** Prints a change of a plan's limits. */
export async function printPlanChange(
  { before, after }: PlanChange,
  json: true | undefined,
  preview?: CustomersPreview,
): Promise<void> {
  const { name, ...limits } = before;
  const previous = Object.keys(knownIn(limits)).length === 0 ? null : limits;
  if (json) return printJson({ ...after, before: previous, ...preview });
  const fields = [
    same('name', name),
    ...planFields
      .filter((field) => before[field] !== undefined || after[field] !== undefined)
      .map((field) => ({ field, before: before[field], after: after[field] })),
    ...(preview === undefined ? [] : [same('customers', preview.customers)]),
  ];
  const lines = [...formatFields(fields), ...(preview?.above ?? []).map(describeAbove)];
  await print(`${lines.join('\n')}\n`);
}

const same = (field: string, value: string | number) => ({ field, before: value, after: value });
