import { maxLimit, parseLimit, type Limits } from './limits.ts';

/** Limits of both windows, of one, or of none. */
export type SomeLimits = Partial<Record<keyof Limits, number | undefined>>;

/**
 * Limits on trial, of a plan or of one key. What they would have refused is counted; the enforced limits still decide. A
 * window that is not named stays as enforced.
 */
export interface Trial extends SomeLimits {
  /** Start in Unix milliseconds, which identifies the trial: with another one, its counts start over. */
  since: number;
}

/** Trial limits of a key in both windows. */
export interface TrialLimits extends Limits {
  since: number;
}

/** Fields of a trial in `gw:plan:<name>` and in the record of a key. */
export const trialFields = ['trialMinute', 'trialDay', 'trialSince'] as const;

type TrialTexts = Readonly<Partial<Record<string, string | null>>>;

export interface ParsedTrial {
  trial: Trial | undefined;
  /** What is wrong with the fields. The trial is then off, and nothing else is affected. */
  issues: string[];
}

/** Parses the fields of a trial. Never throws: the hash may have been edited by hand. */
export function parseTrial(texts: TrialTexts): ParsedTrial {
  const { trialMinute, trialDay, trialSince } = texts;
  if (![trialMinute, trialDay, trialSince].some(isPresent)) return { trial: undefined, issues: [] };
  const [minute, day, since] = [parseLimit(trialMinute), parseLimit(trialDay), parseSince(trialSince)];
  const off = 'so the trial is off';
  const range = `is not a whole number from 1 to ${maxLimit}, ${off}`;
  const issues: string[] = [];
  if (!isPresent(trialMinute) && !isPresent(trialDay)) {
    issues.push(`trialMinute and trialDay are missing, ${off}`);
  }
  if (isPresent(trialMinute) && minute === undefined) issues.push(`trialMinute ${range}`);
  if (isPresent(trialDay) && day === undefined) issues.push(`trialDay ${range}`);
  if (since === undefined) {
    issues.push(
      isPresent(trialSince)
        ? `trialSince is not a time in Unix milliseconds, ${off}`
        : `trialSince is missing, ${off}`,
    );
  }
  if (issues.length > 0 || since === undefined) return { trial: undefined, issues };
  return { trial: { minute, day, since }, issues };
}

/** Formats a trial as fields of a hash. An empty value stands for a field that the hash must not have. */
export function formatTrial(trial: Trial | undefined): Record<(typeof trialFields)[number], string> {
  const { minute = '', day = '', since = '' } = trial ?? {};
  return { trialMinute: String(minute), trialDay: String(day), trialSince: String(since) };
}

/** What of a key decides on its trial. */
export interface OnTrial extends SomeLimits {
  trial?: Trial | undefined;
}

/**
 * Trial limits of a key: those of its own trial, or else of its plan's, which replace the plan's limits only.
 * @param enforced limits in force for the key
 * @returns undefined if the key is not on trial
 */
export function trialLimitsOf(
  key: OnTrial,
  planTrial: Trial | undefined,
  enforced: Limits,
): TrialLimits | undefined {
  const { trial } = key;
  if (trial !== undefined) {
    return { minute: trial.minute ?? enforced.minute, day: trial.day ?? enforced.day, since: trial.since };
  }
  if (planTrial === undefined) return undefined;
  const minute = key.minute === undefined ? planTrial.minute : undefined;
  const day = key.day === undefined ? planTrial.day : undefined;
  if (minute === undefined && day === undefined) return undefined;
  return { minute: minute ?? enforced.minute, day: day ?? enforced.day, since: planTrial.since };
}

function isPresent(text: string | null | undefined): text is string {
  return typeof text === 'string';
}

function parseSince(text: string | null | undefined): number | undefined {
  return isPresent(text) && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}
