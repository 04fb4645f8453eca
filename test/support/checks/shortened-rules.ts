const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Shortens every window and every `for` of a file of Prometheus rules.
 * @param shorten makes milliseconds of milliseconds
 * @returns the rules, and how many durations were shortened
 */
export function shortenRules(
  rules: string,
  shorten: (ms: number) => number,
): { rules: string; shortened: number } {
  let shortened = 0;
  const text = rules.replaceAll(
    /(\[|\bfor: )(\d+)([smhd])\b/g,
    (_match, before: string, count: string, unit: string) => {
      shortened += 1;
      return `${before}${Math.round(shorten(Number(count) * (unitMs[unit] ?? Number.NaN)))}ms`;
    },
  );
  return { rules: text, shortened };
}
