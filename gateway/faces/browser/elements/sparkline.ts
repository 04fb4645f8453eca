import { html, nothing } from 'lit';

const [width, height] = [100, 24];

/** Values by time as they are known: null before anything was counted, which is not 0. */
export function sinceFirst(values: readonly (number | null)[], counts: readonly number[]) {
  const first = counts.findIndex((count) => count > 0);
  return values.map((value, index) => (first === -1 || index < first ? null : value));
}

/** A line without axes beside a figure that says it in numbers. @param values oldest first; the line has gaps for null */
export function sparkline(values: readonly (number | null)[]) {
  if (values.length < 2) return nothing;
  const most = Math.max(...values.map((value) => value ?? 0), 1);
  const path = values.map((value, index) => {
    if (value === null) return '';
    const point = `${(index * width) / (values.length - 1)} ${height - 1 - (value / most) * (height - 2)}`;
    // A point amid gaps is a dot.
    return (values[index - 1] ?? null) === null ? `M${point}h0` : `L${point}`;
  });
  return html`<svg
    class="sparkline"
    viewBox="0 0 ${width} ${height}"
    preserveAspectRatio="none"
    aria-hidden="true"
  >
    <path d=${path.join('')} vector-effect="non-scaling-stroke" />
  </svg>`;
}
