import { noImpact, planImpacts, type PlanImpact } from '../operations/plan-impact.ts';
import type { PlanChange } from '../operations/plan-store.ts';
import type { PlanUndo } from '../operations/plan-undo.ts';
import type { Session } from '../operations/session.ts';
import { warnOfMissingKeys } from './missing-keys-warning.ts';
import { print, printJson } from './output.ts';
import { formatFields, type ChangedField } from './setting-changes.ts';

/** Counts the keys that are over the limits of a change. No API key is on anonymous. */
export async function impactOf(
  session: Session,
  { after: { name, minute, day } }: PlanChange,
): Promise<PlanImpact> {
  if (minute === null || day === null) return noImpact;
  const impacts = await planImpacts(session, new Map([[name, { minute, day }]]));
  await warnOfMissingKeys(session);
  return impacts.get(name) ?? noImpact;
}

/** Prints a change of a plan's limits, or an undo together with the change that it undoes. */
export async function printPlanChange(
  { before, after, undone }: PlanChange & Partial<Pick<PlanUndo, 'undone'>>,
  json: true | undefined,
  impact?: PlanImpact,
): Promise<void> {
  const isNew = before.minute === null && before.day === null;
  const previous = isNew ? null : { minute: before.minute, day: before.day };
  if (json) return printJson({ ...after, before: previous, ...impact, ...(undone && { undone }) });
  const origin = undone && `${undone.action} by ${undone.who}, ${undone.at}`;
  const fields: ChangedField[] = [
    ['name', after.name, after.name],
    ['minute', before.minute, after.minute],
    ['day', before.day, after.day],
    ...Object.entries(impact ?? {}).map(([name, keys]): ChangedField => [name, keys, keys]),
    ...(origin === undefined ? [] : [['undoes', origin, origin] as const]),
  ];
  return print(`${formatFields(fields).join('\n')}\n`);
}
