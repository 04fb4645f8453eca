/** A ratio with its 95 % confidence interval. */
export interface Ratio {
  ratio: number;
  low: number;
  high: number;
}

/** Quantiles of Student's t for 97.5 %, by degrees of freedom from 1 on. */
const studentT = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];
const normalQuantile = 1.96;

/**
 * Geometric mean of independent ratios: one of each pair of processes, since processes of one build differ by more than
 * the samples of a process do. The interval is that of the mean of their logarithms. One ratio has no interval.
 */
export function meanRatio(ratios: readonly number[]): Ratio {
  const logarithms = ratios.map(Math.log);
  const mean = sum(logarithms) / ratios.length;
  const freedom = ratios.length - 1;
  if (freedom === 0) return { ratio: Math.exp(mean), low: 0, high: Infinity };
  const variance = sum(logarithms.map((value) => (value - mean) ** 2)) / freedom;
  const margin = (studentT[freedom - 1] ?? normalQuantile) * Math.sqrt(variance / ratios.length);
  return { ratio: Math.exp(mean), low: Math.exp(mean - margin), high: Math.exp(mean + margin) };
}

/** For a table: the ratio and its interval. */
export function formatRatio({ ratio, low, high }: Ratio): string {
  return `**${ratio.toFixed(3)}** (${low.toFixed(3)}–${high.toFixed(3)})`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
