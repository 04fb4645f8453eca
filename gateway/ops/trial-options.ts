import { Option, type Command } from 'commander';
import type { SomeLimits } from '../limits/limits.ts';
import { windowNames, type ByWindow } from '../limits/windows.ts';
import { limitsView } from '../operations/key-view.ts';
import type { Session } from '../operations/session.ts';
import {
  refusalsByWindow,
  refusedByTrial,
  withRefused,
  type TrialCounts,
} from '../operations/trial-report.ts';
import type { Trial } from '../plans/trial.ts';
import { addLimitOptions, givenLimits, hasLimits, limitArgument } from './limit-options.ts';
import { asOption, jsonOption, type ChangeOptions } from './options.ts';
import type { Cell } from './output.ts';

/** Options of `plans trial` and `keys trial`. Without a limit, --stop and --apply, the command only shows. */
export interface TrialOptions extends ChangeOptions, ByWindow<number> {
  stop?: true;
  apply?: true;
}

export function addTrialOptions(command: Command): Command {
  return addLimitOptions(
    command,
    (each) => `limit on trial of requests ${each}; starts the trial, counts start at zero`,
    limitArgument,
  )
    .addOption(new Option('--stop', 'end the trial').conflicts([...windowNames, 'apply']))
    .addOption(
      new Option('--apply', 'enforce the limits on trial, and end the trial').conflicts([...windowNames]),
    )
    .addOption(asOption())
    .addOption(jsonOption());
}

interface Trials<Change> {
  start(session: Session, target: string, limits: SomeLimits): Promise<Change>;
  stop(session: Session, target: string): Promise<Change>;
  apply(session: Session, target: string): Promise<Change>;
}

/** @returns undefined if the options ask for no change */
export function requestedChange<Change>(
  { start, stop, apply }: Trials<Change>,
  target: string,
  options: TrialOptions,
): ((session: Session) => Promise<Change>) | undefined {
  if (options.stop) return (session) => stop(session, target);
  if (options.apply) return (session) => apply(session, target);
  if (!hasLimits(options)) return undefined;
  return (session) => start(session, target, givenLimits(options));
}

/** The value before and after a change, or the one value if it is the same. */
export function describeChange(before: string, after: string): string {
  return before === after ? after : `${before} → ${after}`;
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Limits on trial as JSON shows them. */
export function shownTrial(trial: Trial | undefined) {
  return {
    trial: trial === undefined ? null : limitsView(trial),
    since: trial === undefined ? null : isoTime(trial.since),
  };
}

/** The counts as fields for people. */
export function countsText(counts: TrialCounts): Record<string, Cell> {
  const { requests } = counts;
  const byWindow = refusalsByWindow(counts)
    .map(([name, refused]) => `${refused} by the ${name} limit`)
    .join(', ');
  return { requests, wouldRefuse: `${refusedByTrial(counts)} (${describeShare(counts)}): ${byWindow}` };
}

export function describeShare(counts: TrialCounts): string {
  return `${(100 * withRefused(counts).refusedShare).toFixed(2)} %`;
}

/** Whose trial it is. That of a key is its customer's. */
export function trialOwner(from: 'key' | 'plan'): 'customer' | 'plan' {
  return from === 'plan' ? 'plan' : 'customer';
}
