import { html, nothing } from 'lit';

const [width, height] = [100, 24];

/** A line without axes beside a figure that says it in numbers. @param values oldest first */
export function sparkline(values: readonly number[]) {
  if (values.length < 2) return nothing;
  const most = Math.max(...values, 1);
  const points = values.map(
    (value, index) =>
      `${(index * width) / (values.length - 1)},${height - 1 - (value / most) * (height - 2)}`,
  );
  return html`<svg
    class="sparkline"
    viewBox="0 0 ${width} ${height}"
    preserveAspectRatio="none"
    aria-hidden="true"
  >
    <polyline points=${points.join(' ')} vector-effect="non-scaling-stroke" />
  </svg>`;
}
