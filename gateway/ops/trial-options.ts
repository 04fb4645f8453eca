import { Option, type Command } from 'commander';
import type { SomeLimits } from '../limits/limits.ts';
import { refusedByTrial, type TrialCounts } from '../operations/trial-report.ts';
import { asOption, jsonOption, limitArgument, type ChangeOptions } from './options.ts';
import type { Cell } from './output.ts';

/** Options of `plans trial` and `keys trial`. Without any of the first four, the command only shows. */
export interface TrialOptions extends ChangeOptions {
  minute?: number;
  day?: number;
  stop?: true;
  apply?: true;
}

export function addTrialOptions(command: Command): Command {
  return command
    .option(
      '--minute <n>',
      'limit on trial of requests a minute; starts the trial, counts start at zero',
      limitArgument,
    )
    .option(
      '--day <n>',
      'the same for a UTC day; a window without a limit on trial stays as enforced',
      limitArgument,
    )
    .addOption(new Option('--stop', 'end the trial').conflicts(['minute', 'day', 'apply']))
    .addOption(
      new Option('--apply', 'enforce the limits on trial, and end the trial').conflicts(['minute', 'day']),
    )
    .addOption(asOption())
    .addOption(jsonOption());
}

interface Trials<Change> {
  start(target: string, limits: SomeLimits): Promise<Change>;
  stop(target: string): Promise<Change>;
  apply(target: string): Promise<Change>;
}

/** @returns undefined if the options ask for no change */
export function requestedChange(
  target: string,
  { minute, day, stop, apply }: TrialOptions,
): (<Change>(trials: Trials<Change>) => Promise<Change>) | undefined {
  if (stop) return (trials) => trials.stop(target);
  if (apply) return (trials) => trials.apply(target);
  if (minute === undefined && day === undefined) return undefined;
  return (trials) => trials.start(target, { minute, day });
}

/** Limits as JSON shows them: null is a window that is not on trial, or not the key's own. */
export function limitsView({ minute, day }: SomeLimits) {
  return { minute: minute ?? null, day: day ?? null };
}

export function describeLimits(limits: SomeLimits | undefined): string {
  const { minute, day } = limits ?? {};
  const parts = [
    minute === undefined ? [] : [`${minute} a minute`],
    day === undefined ? [] : [`${day} a day`],
  ];
  return parts.flat().join(', ') || 'none';
}

/** The value before and after a change, or the one value if it is the same. */
export function describeChange(before: string, after: string): string {
  return before === after ? after : `${before} → ${after}`;
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Share of requests that would have been refused, from 0 to 1. */
export function refusedShare(counts: TrialCounts): number {
  return counts.requests === 0 ? 0 : refusedByTrial(counts) / counts.requests;
}

/** The counts as fields for people. */
export function countFields(counts: TrialCounts): Record<string, Cell> {
  const { requests, refusedMinute, refusedDay } = counts;
  const byWindow = `${refusedMinute} by the minute limit, ${refusedDay} by the day limit`;
  return { requests, wouldRefuse: `${refusedByTrial(counts)} (${describeShare(counts)}): ${byWindow}` };
}

export function describeShare(counts: TrialCounts): string {
  return `${(100 * refusedShare(counts)).toFixed(2)} %`;
}
