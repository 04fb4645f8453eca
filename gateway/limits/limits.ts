import {
  byWindow,
  doubtfulWindows,
  hasWindow,
  mapWindows,
  windowNames,
  windowOf,
  type ByWindow,
  type WindowName,
} from './windows.ts';

/** Requests allowed in each window of a plan or key. No limit for a window means that it allows any number. */
export type Limits = ByWindow<number>;

/** Limits of the specification, section 8.2. Redis is seeded with them once, and decides from then on. */
export const defaultPlans: Readonly<Record<string, Limits>> = {
  free: { minute: 60, day: 1000 },
  pro: { minute: 300, day: 10_000 },
  business: { minute: 1000, day: 100_000 },
};

/** A plan of another name may be that of something every object has, such as constructor. */
export const defaultLimits = (plan: string): Limits | undefined =>
  Object.hasOwn(defaultPlans, plan) ? defaultPlans[plan] : undefined;

/**
 * Windows of which a plan lacks a limit: those of its default that have none, or all if it has no default and no limit.
 * @param given limits by window, as numbers or texts
 */
export function lackingWindows(
  defaults: Limits | undefined,
  given: ByWindow<unknown>,
): readonly WindowName[] {
  if (defaults === undefined) return hasWindow(given) ? [] : windowNames;
  return windowNames.filter((name) => defaults[name] !== undefined && given[name] === undefined);
}

/** Largest valid limit. Far above any real plan, and exact in Lua and in JavaScript. */
export const maxLimit = 1_000_000_000;

export const limitIssue = `is not a whole number from 1 to ${maxLimit}`;

/** A limit as text, from Redis, the command line or a form: a whole number from 1 to {@link maxLimit}, or else undefined. */
export function parseLimit(text: string | null | undefined): number | undefined {
  return /^[1-9]\d{0,9}$/.test(text ?? '') && Number(text) <= maxLimit ? Number(text) : undefined;
}

/** Picks the limits out of a value that has more than limits. */
export function limitsIn(value: Limits): Limits {
  return byWindow((name) => value[name]);
}

/** Limits without those that are invalid or missing, for which null stands. */
export function knownIn(limits: ByWindow<number | null>): Limits {
  return byWindow((name) => limits[name] ?? undefined);
}

/**
 * Describes limits as in "60 a minute, 1000 a day"; `null` and undefined count as no limit.
 * @param none words for no limit at all
 */
export function describeLimits(
  limits: ByWindow<number | null> = {},
  none = 'none',
  format: (limit: number) => string = String,
): string {
  const parts = mapWindows(knownIn(limits), (limit, name) => `${format(limit)} ${windowOf(name).each}`);
  return Object.values(parts).join(', ') || none;
}

/** As in the question whether limits are meant; undefined if there is nothing to question. */
export function doubtInWords(owner: string, limits: Limits): string | undefined {
  return doubtfulPairs(owner, limits).join(', and ') || undefined;
}

/** @returns a description of each pair of doubtful windows */
export function doubtfulPairs(owner: string, limits: Limits): string[] {
  return doubtfulWindows(limits).map(
    ({ longer, shorter }) =>
      `the ${longer} limit of ${owner}, ${limits[longer]}, is less than its ${shorter} limit, ${limits[shorter]}`,
  );
}
