export const dayMs = 86_400_000;

/** Number of UTC days since the Unix epoch. */
export function dayNumberOf(nowMs: number): number {
  return Math.floor(nowMs / dayMs);
}

/** @returns the UTC date of a day number as YYYYMMDD */
export function utcDate(dayNumber: number): string {
  return new Date(dayNumber * dayMs).toISOString().slice(0, 10).replaceAll('-', '');
}
