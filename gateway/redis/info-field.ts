/** Value of a field in the reply to INFO; undefined if the reply lacks it. */
export function infoField(info: string, field: string): string | undefined {
  return new RegExp(`^${field}:(\\S+)`, 'm').exec(info)?.[1];
}

/** The same for a field that holds a whole number; 0 if the reply has no such number. */
export function infoNumber(info: string, field: string): number {
  return Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
}
