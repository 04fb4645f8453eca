/**
 * Value of an option of a benchmark.
 * @throws Error if it is not a whole number of at least 1
 */
export function positiveInteger(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`--${name} must be a positive integer, not ${text}`);
  return value;
}
