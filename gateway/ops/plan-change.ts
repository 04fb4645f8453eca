import { completeLimits, knownIn } from '../limits/limits.ts';
import { windowNames } from '../limits/windows.ts';
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
  { after: { name, ...after } }: PlanChange,
): Promise<PlanImpact> {
  const limits = completeLimits(knownIn(after));
  if (limits === undefined) return noImpact;
  const impacts = await planImpacts(session, new Map([[name, limits]]));
  await warnOfMissingKeys(session);
  return impacts.get(name) ?? noImpact;
}

/** Prints a change of a plan's limits, or an undo together with the change that it undoes. */
export async function printPlanChange(
  { before, after, undone }: PlanChange & Partial<Pick<PlanUndo, 'undone'>>,
  json: true | undefined,
  impact?: PlanImpact,
): Promise<void> {
  const { name, ...limits } = before;
  const previous = Object.keys(knownIn(limits)).length === 0 ? null : limits;
  if (json) return printJson({ ...after, before: previous, ...impact, ...(undone && { undone }) });
  const origin = undone && `${undone.action} by ${undone.who}, ${undone.at}`;
  const fields: ChangedField[] = [
    ['name', name, name],
    ...windowNames
      .filter((window) => before[window] !== undefined || after[window] !== undefined)
      .map((window): ChangedField => [window, before[window], after[window]]),
    ...Object.entries(impact ?? {}).map(([name, keys]): ChangedField => [name, keys, keys]),
    ...(origin === undefined ? [] : [['undoes', origin, origin] as const]),
  ];
  return print(`${formatFields(fields).join('\n')}\n`);
}
