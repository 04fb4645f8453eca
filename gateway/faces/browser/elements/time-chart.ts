import { html, nothing } from 'lit';
import uPlot from 'uplot';
import { formatNumber, utc } from '../format.ts';
import { chartData, chartOptions, chartUnits, type ChartSeries, type ChartUnit } from './chart-options.ts';
import { LightElement } from './light-element.ts';
import { actionButtons } from './menu.ts';
import { count, listTable } from './table.ts';

const height = 220;

/** A chart over time, with the values of the point under the cursor in its legend. Its figures are also there as a table. */
class TimeChart extends LightElement {
  static override properties = { heading: {}, unit: {} };

  heading = '';
  unit: ChartUnit = 'time';
  /** Unix seconds. */
  times: readonly number[] = [];
  series: readonly ChartSeries[] = [];
  format: (value: number | null) => string = formatNumber;
  asTable = false;
  /** Point under the cursor. */
  index: number | undefined;
  width = 0;
  #plot: uPlot | undefined;
  /** What the plot was made for: moving the cursor must not make it again. */
  #drawn = '';

  constructor() {
    super();
    this.whileConnected((signal) => {
      const scheme = matchMedia('(prefers-color-scheme: dark)');
      scheme.addEventListener('change', () => this.requestUpdate(), { signal });
      const sizes = new ResizeObserver(
        ([entry]) => (this.width = Math.floor(entry?.contentRect.width ?? 0) || this.width),
      );
      sizes.observe(this);
      signal.addEventListener('abort', () => {
        sizes.disconnect();
        this.#plot?.destroy();
        this.#drawn = '';
      });
    });
  }

  override updated() {
    const target = this.querySelector<HTMLElement>('.plot');
    const { unit, times, series, width } = this;
    const drawn = JSON.stringify([unit, times, series, width, target && colorOf(target, 'line')]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    this.#plot?.destroy();
    this.#plot = undefined;
    if (target === null || width === 0) return;
    const options = chartOptions({
      unit,
      series,
      width,
      height,
      colorOf: (tone) => colorOf(target, tone),
      onCursor: (index) => (this.index = index),
    });
    this.#plot = new uPlot(options, chartData(times, series), target);
  }

  override render() {
    return html`<figure class="time-chart" aria-label=${this.heading}>
      <figcaption class="row spread">
        <h3>${this.heading}</h3>
        ${actionButtons([{ text: this.asTable ? 'Show as chart' : 'Show as table', tone: 'plain', act: () => (this.asTable = !this.asTable) }])}
      </figcaption>
      ${this.asTable ? this.table() : this.chart()}
    </figure>`;
  }

  chart() {
    const { series, times, index } = this;
    const newest = series.map(({ label, values }) => `${label} ${this.format(values.at(-1) ?? null)}`);
    const value = (values: ChartSeries['values']) =>
      index === undefined ? nothing : html`<strong>${this.format(values[index] ?? null)}</strong>`;
    return html`<div
        class="plot"
        role="img"
        aria-label=${`${this.heading}: ${times.length} points; newest: ${newest.join(', ')}`}
      ></div>
      <ul class="legend row">
        ${series.map(({ label, tone, values }) => html`<li>${swatch(tone)}${label} ${value(values)}</li>`)}
        <li>${index === undefined ? nothing : this.timeText(times[index] ?? 0)}</li>
      </ul>`;
  }

  timeText(seconds: number) {
    const date = new Date(seconds * 1000);
    return `${chartUnits[this.unit].exact.format(date)}${this.unit === 'time' ? ` · ${utc(date)}` : ''}`;
  }

  table() {
    const points = this.times.map((seconds, index) => ({ date: new Date(seconds * 1000), index }));
    return listTable(
      `${this.heading}, table`,
      points.toReversed(),
      [
        [
          'Time',
          ({ date }) =>
            html`<time datetime=${date.toISOString()} title=${utc(date)}
              >${chartUnits[this.unit].exact.format(date)}</time
            >`,
        ],
        ...this.series.map(({ label, values }) =>
          count<(typeof points)[number]>(label, ({ index }) => this.format(values[index] ?? null)),
        ),
      ],
      { region: 'figures' },
    );
  }
}

/** A style as an attribute would be inline, which the policy refuses. */
const swatch = (tone: string) =>
  html`<span aria-hidden="true" .style=${`color: var(--tone-${tone})`}>■ </span>`;

/** A colour of the tokens as a canvas needs it, of the scheme in use. */
function colorOf(parent: HTMLElement, tone: string) {
  const probe = document.createElement('span');
  probe.style.color = `var(--${tone})`;
  parent.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

customElements.define('time-chart', TimeChart);
