const bars = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** Draws a bar for each value, the largest at full height; a space for 0. */
export function sparkline(values: readonly number[]): string {
  const max = Math.max(0, ...values);
  return values
    .map((value) => (value <= 0 ? ' ' : (bars[Math.ceil((value / max) * bars.length) - 1] ?? '')))
    .join('');
}
