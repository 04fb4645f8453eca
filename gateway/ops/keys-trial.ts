import { Command } from 'commander';
import { describeLimits } from '../limits/limits.ts';
import {
  applyTrial,
  showTrial,
  startTrial,
  stopTrial,
  type KeyOnTrial,
  type KeyTrialChange,
} from '../operations/key-trial.ts';
import { limitsView } from '../operations/key-view.ts';
import { readTrialCounts, withRefused, type TrialCounts } from '../operations/trial-report.ts';
import { printError, printFields, printJson } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';
import {
  addTrialOptions,
  countsText,
  describeChange,
  isoTime,
  requestedChange,
  shownTrial,
  trialOwner,
  type TrialOptions,
} from './trial-options.ts';

export function keysTrialCommand(): Command {
  const command = new Command('trial')
    .description("limits on trial of a customer, in place of its plan's: counted, and nothing is refused")
    .argument('<id>', 'customer, or one of its keys');
  return addTrialOptions(command).action(async (id: string, options: TrialOptions) => {
    const change = requestedChange({ start: startTrial, stop: stopTrial, apply: applyTrial }, id, options);
    if (change === undefined) return show(id, options);
    printChange(await withChanges(options.as, change), options.json);
  });
}

async function show(id: string, { json }: TrialOptions): Promise<void> {
  const { key, counts } = await withRedis(async (session) => {
    const key = await showTrial(session, id);
    const { trial, record } = key;
    const counts = trial && (await readTrialCounts(session.redis, record.customerId, trial.limits.since));
    return { key, counts };
  });
  for (const issue of key.issues) printError(`warning: ${id}: ${issue}`);
  if (json) printJson(trialView(key, counts));
  else printTrial(key, counts);
}

function trialView({ record, limits, trial }: KeyOnTrial, counts: TrialCounts | undefined) {
  return {
    id: record.id,
    name: record.name,
    plan: record.plan,
    enforced: limits ?? null,
    ...shownTrial(trial?.limits),
    trialOf: trial?.from ?? null,
    ...(counts && withRefused(counts)),
  };
}

function printTrial({ record, limits, trial }: KeyOnTrial, counts: TrialCounts | undefined): void {
  printFields({
    id: record.id,
    name: record.name,
    plan: record.plan,
    enforced: describeLimits(limits),
    trial: trial ? `${describeLimits(trial.limits)} (trial of the ${trialOwner(trial.from)})` : 'none',
    since: trial && isoTime(trial.limits.since),
    ...(counts && countsText(counts)),
  });
}

/** Own limits and trial of the customer, without what it has from its plan. */
function ownView({ trial, ...record }: KeyOnTrial['record']) {
  return { ...limitsView(record), ...shownTrial(trial) };
}

function printChange({ before, after }: KeyTrialChange, json: true | undefined): void {
  const { id, name, plan, trial } = after;
  if (json) return printJson({ id, name, plan, before: ownView(before), after: ownView(after) });
  printFields({
    id,
    name,
    plan,
    ownLimits: describeChange(describeLimits(before), describeLimits(after)),
    trial: describeChange(describeLimits(before.trial), describeLimits(trial)),
    since: trial && isoTime(trial.since),
  });
}
