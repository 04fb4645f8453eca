import { html, nothing } from 'lit';
import uPlot from 'uplot';
import { formatNumber, utc } from '../format.ts';
import { LightElement } from './light-element.ts';
import { actionButtons } from './menu.ts';
import { count, listTable } from './table.ts';

/** Its tone is one of the styles: good, quiet, caution, bad, other. */
export type ChartSeries = { label: string; tone: string; values: readonly (number | null)[] };

const timeZone = 'UTC';

/** What the points of a chart are (a day or month is a bar), and how a tick of its axis and a reader name one. Times are in the viewer's zone. */
const chartUnits = {
  time: {
    tick: new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' }),
    exact: new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' }),
  },
  'utc-day': {
    tick: new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone }),
    exact: new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone }),
  },
  'utc-month': {
    tick: new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric', timeZone }),
    exact: new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone }),
  },
};
type ChartUnit = keyof typeof chartUnits;

/** Short, so that there is room for the largest: 1.5M. */
const axisNumbers = new Intl.NumberFormat(undefined, { notation: 'compact', maximumSignificantDigits: 3 });
const axisFont = '12px Geist, system-ui, sans-serif';
/** Of the axis of values, which the widest short number has room on. */
const axisWidth = 48;
const tickSpace = 70;
const daySeconds = 86_400;
const height = 220;

/** Options of uPlot for a chart of counts over time. */
function chartOptions(
  { unit, series, width }: Pick<TimeChart, 'unit' | 'series' | 'width'>,
  colorOf: (tone: string) => string,
  onCursor: (index: number | undefined) => void,
): uPlot.Options {
  const isBars = unit !== 'time';
  const line = { stroke: colorOf('line'), width: 1 };
  const axis = { stroke: colorOf('quiet'), font: axisFont, grid: line, ticks: line };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { range: (u, min, max) => (isBars ? [min - halfBar(u), max + halfBar(u)] : [min, max]) },
      y: { range: (_u, _min, max) => [0, uPlot.rangeNum(0, max > 0 ? max : 1, 0.1, true)[1] ?? 1] },
    },
    axes: [
      {
        ...axis,
        space: tickSpace,
        size: 32,
        ...(isBars && { splits: namedPoints }),
        values: (_u, splits) => splits.map((seconds) => chartUnits[unit].tick.format(seconds * 1000)),
      },
      { ...axis, size: axisWidth, values: (_u, splits) => splits.map((value) => axisNumbers.format(value)) },
    ],
    series: [{}, ...series.toReversed().map(({ tone }) => seriesOptions(isBars, colorOf(`tone-${tone}`)))],
    hooks: { setCursor: [({ cursor }) => onCursor(cursor.idx ?? undefined)] },
  };
}

function seriesOptions(isBars: boolean, stroke: string): uPlot.Series {
  const paths = isBars ? uPlot.paths.bars?.({ size: [0.8, 48], align: 0 }) : undefined;
  return { stroke, fill: stroke, width: 1, points: { show: false }, ...(paths && { paths }) };
}

/**
 * Data of uPlot. Values are sums, and the highest is drawn first; nothing is drawn for null.
 * @param times Unix seconds
 */
function chartData(times: readonly number[], series: readonly ChartSeries[]): uPlot.AlignedData {
  let sums: (number | null)[] = times.map(() => 0);
  const stacked = series.map(({ values }) => {
    sums = values.map((value, index) => (value === null ? null : value + (sums[index] ?? 0)));
    return sums;
  });
  return [[...times], ...stacked.toReversed()];
}

/** Points that have a tick: all, or every other one and so on as there is room. */
function namedPoints({ data: [times], width }: uPlot) {
  const every = Math.ceil((times.length * tickSpace) / width);
  return Array.from(times).filter((_, index) => (times.length - 1 - index) % every === 0);
}

/** Room beside the first and the last bar, in seconds. */
function halfBar({ data: [times] }: uPlot) {
  const [first = 0, second = first + daySeconds] = times;
  return (second - first) / 2;
}

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
    const options = chartOptions(
      this,
      (tone) => colorOf(target, tone),
      (index) => (this.index = index),
    );
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
