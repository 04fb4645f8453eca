import { completeLimits, describeLimits, knownIn } from '../limits/limits.ts';
import { planFields } from '../limits/shadow-limits.ts';
import { windowNames } from '../limits/windows.ts';
import { findPastImpacts, isRecorded, pastUse, type PastImpact } from '../operations/past-impact.ts';
import {
  findHitKeys,
  impactOn,
  noImpact,
  planUse,
  readPlan,
  type HitKey,
  type PlanImpact,
} from '../operations/plan-impact.ts';
import type { PlanChange } from '../operations/plans.ts';
import type { Session } from '../operations/session.ts';
import { countingKeys } from './counting-keys.ts';
import { fieldLayout, printList } from './list-output.ts';
import { print, printJson } from './output.ts';
import { formatFields } from './setting-changes.ts';

/** What the limits of a change would do now, and would have done on the recorded days. */
export interface ChangeEffect {
  impact: PlanImpact;
  hardestHit: HitKey[];
  past: PastImpact[];
}

/** Counts and names the keys that are over the limits of a change. No API key is on anonymous. */
export async function effectOf(
  session: Session,
  { after: { name, ...after } }: PlanChange,
): Promise<ChangeEffect> {
  const limits = completeLimits(knownIn(after));
  if (limits === undefined) return { impact: noImpact, hardestHit: [], past: [] };
  const windows = windowNames.filter((window) => limits[window] !== undefined && isRecorded(window));
  const [now, past] = [planUse(session), await pastUse(session, windows)];
  await countingKeys(session, (options) => readPlan(session, name, [now, past], options));
  return {
    impact: impactOn(now.soFar, limits),
    hardestHit: await findHitKeys(session, name, now.soFar, limits),
    past: await findPastImpacts(session, past.soFar, limits),
  };
}

/** Prints a change of a plan's limits. */
export async function printPlanChange(
  { before, after }: PlanChange,
  json: true | undefined,
  effect?: ChangeEffect,
): Promise<void> {
  const { name, ...limits } = before;
  const previous = Object.keys(knownIn(limits)).length === 0 ? null : limits;
  const { impact, ...named } = effect ?? {};
  if (json) return printJson({ ...after, before: previous, ...impact, ...named });
  const fields = [
    same('name', name),
    ...planFields
      .filter((field) => before[field] !== undefined || after[field] !== undefined)
      .map((field) => ({ field, before: before[field], after: after[field] })),
    ...Object.entries(impact ?? {}).map(([name, keys]) => same(name, keys)),
  ];
  await print(`${formatFields(fields).join('\n')}\n`);
  if (effect !== undefined) await printNamed(effect);
}

const same = (field: string, value: string | number) => ({ field, before: value, after: value });

async function printNamed({ impact, hardestHit, past }: ChangeEffect): Promise<void> {
  if (impact.keys === 0) return;
  if (hardestHit.length > 0) {
    await print('\n');
    await printList('table', hitLayout, hardestHit);
    await printMore(impact.over - hardestHit.length);
  }
  for (const effect of past) {
    await print(`\n${describePast(effect)}\n`);
    if (effect.keys === 0) continue;
    await printList('table', pastLayout, effect.most);
    await printMore(effect.keys - effect.most.length);
  }
  await print('\nThe record of use has days: about limits of a minute or an hour, shadow limits tell.\n');
}

const printMore = async (more: number) => (more > 0 ? print(`and ${more} more\n`) : undefined);

const hitLayout = fieldLayout<HitKey>({
  'REFUSED AT ONCE': 'id',
  NAME: 'name',
  PLAN: 'plan',
  WINDOW: 'window',
  USED: 'used',
  LIMIT: 'limit',
});

const pastLayout = fieldLayout<PastImpact['most'][number]>({
  ID: 'id',
  NAME: 'name',
  'TIMES OVER': 'overPeriods',
  'MOST USED': 'mostUsed',
});

function describePast({ window, limit, periods, overPeriods, keys }: PastImpact): string {
  const limitText = describeLimits({ [window]: limit });
  if (periods === 0) return `${limitText}: no ${window} with use is recorded yet`;
  const last = periods === 1 ? `the last recorded ${window}` : `the last ${periods} recorded ${window}s`;
  if (keys === 0) return `${limitText}: no key would have gone over it on ${last}`;
  const who = keys === 1 ? '1 key' : `${keys} keys`;
  return `${limitText}: ${who} would have gone over it on ${overPeriods} of ${last}`;
}
