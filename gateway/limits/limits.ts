import {
  byRequiredWindow,
  byWindow,
  doubtfulWindows,
  hasRequired,
  windowOf,
  windows,
  type ByRequiredWindow,
  type ByWindow,
  type RequiredWindow,
  type WindowName,
} from './windows.ts';

/** Requests allowed in each window of a plan or key. No limit for a window means that it allows any number. */
export type Limits = ByRequiredWindow<number>;

/** Limits of some windows, such as the own limits of a key. */
export type SomeLimits = ByWindow<number>;

/** Largest valid limit. Far above any real plan, and exact in Lua and in JavaScript. */
export const maxLimit = 1_000_000_000;

export const limitIssue = `is not a whole number from 1 to ${maxLimit}`;

/** A limit as text, from Redis, the command line or a form: a whole number from 1 to {@link maxLimit}, or else undefined. */
export function parseLimit(text: string | null | undefined): number | undefined {
  return /^[1-9]\d{0,9}$/.test(text ?? '') && Number(text) <= maxLimit ? Number(text) : undefined;
}

/** What is wrong with the text of a limit; undefined for a valid one, and for one that need not be there. */
export function issueOf(name: WindowName, text: string | null | undefined): string | undefined {
  if (text === null || text === undefined) return windowOf(name).required ? `${name} is missing` : undefined;
  return parseLimit(text) === undefined ? `${name} ${limitIssue}` : undefined;
}

/** Picks the limits out of a value that has more than limits. */
export function limitsIn(value: SomeLimits): Partial<Limits> {
  return byWindow((name) => value[name]);
}

/** Limits without those that are invalid or missing, for which null stands. */
export function knownIn(limits: ByWindow<number | null>): Partial<Limits> {
  return byWindow((name) => limits[name] ?? undefined);
}

/** Limits with some of them replaced. */
export function withLimits(
  limits: Record<RequiredWindow, number> & SomeLimits,
  replaced: SomeLimits = {},
): Limits {
  return { ...byRequiredWindow((name) => limits[name]), ...limitsIn(limits), ...limitsIn(replaced) };
}

/** @returns undefined unless there is a limit for each required window */
export function completeLimits(limits: SomeLimits): Limits | undefined {
  const known = limitsIn(limits);
  return hasRequired(known) ? known : undefined;
}

/** Own limits after a change: undefined leaves one as it is, null removes it. */
export function changedLimits(limits: SomeLimits, change: ByWindow<number | null>): SomeLimits {
  return byWindow((name) => (change[name] === undefined ? limits[name] : (change[name] ?? undefined)));
}

/**
 * Describes limits as in "60 a minute, 1000 a day"; `null` and undefined count as no limit.
 * @param none words for no limit at all
 */
export function describeLimits(limits: ByWindow<number | null> = {}, none = 'none'): string {
  const known = knownIn(limits);
  return (
    windows
      .flatMap(({ name, each }) => (known[name] === undefined ? [] : [`${known[name]} ${each}`]))
      .join(', ') || none
  );
}

/** As in the question whether limits are meant; undefined if there is nothing to question. */
export function doubtInWords(owner: string, limits: SomeLimits): string | undefined {
  return doubtfulPairs(owner, limits).join(', and ') || undefined;
}

/** @returns a description of each pair of doubtful windows */
export function doubtfulPairs(owner: string, limits: SomeLimits): string[] {
  return doubtfulWindows(limits).map(
    ({ longer, shorter }) =>
      `the ${longer} limit of ${owner}, ${limits[longer]}, is less than its ${shorter} limit, ${limits[shorter]}`,
  );
}
