import { windows, type WindowName } from './windows.ts';

/** Shares of a limit in percent, ascending. An event says that they are used. */
export type Thresholds = readonly number[];

export const defaultThresholds: Thresholds = [80, 100];
export const maxThresholds = 5;
export const thresholdsIssue = `are not up to ${maxThresholds} different whole numbers from 1 to 100, such as 80,100, or "none"`;

/** Only of these windows: a minute ends before anybody reads of it. */
export const thresholdWindows: readonly WindowName[] = windows
  .filter(({ calendar }) => calendar !== undefined)
  .map(({ name }) => name);

/** @returns undefined if the text is invalid */
export function parseThresholds(text: string): Thresholds | undefined {
  if (text === 'none') return [];
  const parts = text.split(',').map((part) => part.trim());
  return parts.every((part) => /^\d{1,3}$/.test(part)) ? validThresholds(parts.map(Number)) : undefined;
}

/** @returns undefined if there are too many, or one is invalid */
export function validThresholds(shares: readonly number[]): Thresholds | undefined {
  const isValid =
    shares.length <= maxThresholds &&
    new Set(shares).size === shares.length &&
    shares.every((share) => Number.isInteger(share) && share >= 1 && share <= 100);
  return isValid ? shares.toSorted((one, other) => one - other) : undefined;
}

/** @returns an empty text for no own thresholds */
export function formatThresholds(thresholds: Thresholds | undefined): string {
  if (thresholds === undefined) return '';
  return thresholds.length === 0 ? 'none' : thresholds.join(',');
}

/** The units from which on a share of a limit is used. */
export function unitsAt(share: number, limit: number): number {
  return Math.ceil((limit * share) / 100);
}
