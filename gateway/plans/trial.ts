import { withLimits, type Limits, type SomeLimits } from '../limits/limits.ts';
import type { OwnLimits } from '../limits/temporary-limits.ts';
import {
  formatTimedLimits,
  parseTimedLimits,
  timedLimitsFields,
  type FieldTexts,
} from '../limits/timed-limits.ts';
import { byWindow } from '../limits/windows.ts';

/**
 * Limits on trial, of a plan or of one customer. What they would have refused is counted; the enforced limits still decide. A
 * window that is not named stays as enforced.
 */
export type Trial = SomeLimits & {
  /** Start in Unix milliseconds, which identifies the trial: with another one, its counts start over. */
  since: number;
};

/** Trial limits of a key in each window that has a limit. */
export type TrialLimits = Limits & { since: number };

const fields = {
  prefix: 'trial',
  timeField: 'trialSince',
  timeIs: 'a time in Unix milliseconds',
  parseTime: (text: string) => (/^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined),
  consequence: 'so the trial is off',
};

/** Fields of a trial in `gw:plan:<name>` and in the record of a customer. */
export const trialFields = timedLimitsFields(fields);

export interface ParsedTrial {
  trial: Trial | undefined;
  /** What is wrong with the fields. The trial is then off, and nothing else is affected. */
  issues: string[];
}

/** Parses the fields of a trial. Never throws: the hash may have been edited by hand. */
export function parseTrial(texts: FieldTexts): ParsedTrial {
  const { found, issues } = parseTimedLimits(fields, texts);
  return { trial: found && { ...found.limits, since: found.time }, issues };
}

/** Formats a trial as fields of a hash. An empty value stands for a field that the hash must not have. */
export function formatTrial(trial: Trial | undefined): Record<string, string> {
  return formatTimedLimits(fields, trial, trial?.since);
}

/** What of a customer decides on its trial. */
export type OnTrial = OwnLimits & { trial?: Trial | undefined };

/**
 * Trial limits of a key: those of its customer's trial, or else of its plan's, which replace the plan's limits only.
 * @param enforced limits in force for the key
 * @returns undefined if the key is not on trial
 */
export function trialLimitsOf(
  key: OnTrial,
  planTrial: Trial | undefined,
  enforced: Limits,
): TrialLimits | undefined {
  const { trial } = key;
  if (trial !== undefined) return onTrial(trial, trial.since, enforced);
  if (planTrial === undefined) return undefined;
  const ofPlan = byWindow((name) => (key[name] === undefined ? planTrial[name] : undefined));
  return Object.keys(ofPlan).length === 0 ? undefined : onTrial(ofPlan, planTrial.since, enforced);
}

function onTrial(trial: SomeLimits, since: number, enforced: Limits): TrialLimits {
  return { ...withLimits(enforced, trial), since };
}
