import type { Limits } from '../limits/limits.ts';

/**
 * Detects a day limit that is below the minute limit, which is valid and usually a mistake: the minute limit is never reached.
 * @returns a description; undefined if there is nothing to question
 */
export function dayBelowMinute(plan: string, { minute, day }: Limits): string | undefined {
  if (day >= minute) return undefined;
  return `the day limit of ${plan}, ${day}, is less than its minute limit, ${minute}`;
}
