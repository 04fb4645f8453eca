import { limitIssue, parseLimit, withLimits, type Limits, type SomeLimits } from '../limits/limits.ts';
import { byWindow, fieldOf, windowNames } from '../limits/windows.ts';

/**
 * Limits on trial, of a plan or of one key. What they would have refused is counted; the enforced limits still decide. A
 * window that is not named stays as enforced.
 */
export type Trial = SomeLimits & {
  /** Start in Unix milliseconds, which identifies the trial: with another one, its counts start over. */
  since: number;
};

/** Trial limits of a key in each window that has a limit. */
export type TrialLimits = Limits & { since: number };

const trialField = (name: (typeof windowNames)[number]) => fieldOf('trial', name);
const limitFields = windowNames.map(trialField);

/** Fields of a trial in `gw:plan:<name>` and in the record of a key. */
export const trialFields: readonly string[] = [...limitFields, 'trialSince'];

type TrialTexts = Readonly<Partial<Record<string, string | null>>>;

export interface ParsedTrial {
  trial: Trial | undefined;
  /** What is wrong with the fields. The trial is then off, and nothing else is affected. */
  issues: string[];
}

/** Parses the fields of a trial. Never throws: the hash may have been edited by hand. */
export function parseTrial(texts: TrialTexts): ParsedTrial {
  if (!trialFields.some((field) => isPresent(texts[field]))) return { trial: undefined, issues: [] };
  const limits = byWindow((name) => parseLimit(texts[trialField(name)]));
  const since = parseSince(texts['trialSince']);
  const off = 'so the trial is off';
  const issues: string[] = [];
  if (!limitFields.some((field) => isPresent(texts[field]))) {
    issues.push(`${listed(limitFields)} are missing, ${off}`);
  }
  for (const name of windowNames) {
    if (isPresent(texts[trialField(name)]) && limits[name] === undefined) {
      issues.push(`${trialField(name)} ${limitIssue}, ${off}`);
    }
  }
  if (since === undefined) {
    issues.push(
      isPresent(texts['trialSince'])
        ? `trialSince is not a time in Unix milliseconds, ${off}`
        : `trialSince is missing, ${off}`,
    );
  }
  if (issues.length > 0 || since === undefined) return { trial: undefined, issues };
  return { trial: { ...limits, since }, issues };
}

/** Formats a trial as fields of a hash. An empty value stands for a field that the hash must not have. */
export function formatTrial(trial: Trial | undefined): Record<string, string> {
  return {
    ...Object.fromEntries(windowNames.map((name) => [trialField(name), String(trial?.[name] ?? '')])),
    trialSince: String(trial?.since ?? ''),
  };
}

/** What of a key decides on its trial. */
export type OnTrial = SomeLimits & { trial?: Trial | undefined };

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
  if (trial !== undefined) return onTrial(trial, trial.since, enforced);
  if (planTrial === undefined) return undefined;
  const ofPlan = byWindow((name) => (key[name] === undefined ? planTrial[name] : undefined));
  return Object.keys(ofPlan).length === 0 ? undefined : onTrial(ofPlan, planTrial.since, enforced);
}

function onTrial(trial: SomeLimits, since: number, enforced: Limits): TrialLimits {
  return { ...withLimits(enforced, trial), since };
}

/** As in "one, two and three". */
function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

function isPresent(text: string | null | undefined): text is string {
  return typeof text === 'string';
}

function parseSince(text: string | null | undefined): number | undefined {
  return isPresent(text) && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}
