import { html, nothing } from 'lit';
import uPlot from 'uplot';
import { LightElement } from '../../../../browser/elements/light-element.ts';
import { numeric, table } from '../../../../browser/elements/table.ts';
import { formatNumber, utc } from '../../../../browser/format.ts';
import {
  chartData,
  chartOptions,
  type ChartKind,
  type ChartSeries,
  type ChartUnit,
} from './chart-options.ts';

const exactTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const utcDate = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });
const utcMonth = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' });
const height = 220;
/** How a row of the table names its time. */
const rowTimes = { time: exactTime, 'utc-day': utcDate, 'utc-month': utcMonth };
let lastId = 0;

/**
 * A chart over time, in the viewer's zone, with UTC for the point under the cursor. Its figures are also there as a table.
 *
 *     <time-chart heading="Requests" kind="stacked" .times=${[1763900000, …]} .series=${[{ label: '2xx', tone: 'good',
 *       values: [12, …] }]} .format=${(value) => `${value} ms`}></time-chart>
 *
 * Tones: good, quiet, caution, bad, brand, other. `unit`: `utc-day` or `utc-month` for points of a record of use.
 */
export class TimeChart extends LightElement {
  static override properties = {
    heading: {},
    kind: {},
    unit: {},
  };

  heading = '';
  kind: ChartKind = 'lines';
  /** Unix seconds. */
  times: readonly number[] = [];
  series: readonly ChartSeries[] = [];
  format: (value: number) => string = formatNumber;
  unit: ChartUnit = 'time';
  asTable = false;
  /** Labels of series that are not drawn. */
  turnedOff: ReadonlySet<string> = new Set();
  /** Point under the cursor. */
  index: number | undefined;
  width = 0;
  #id = `time-chart-${(lastId += 1)}`;
  #scheme = matchMedia('(prefers-color-scheme: dark)');
  dark = this.#scheme.matches;
  #onScheme = () => (this.dark = this.#scheme.matches);
  #sizes = new ResizeObserver(([entry]) => {
    const width = Math.floor(entry?.contentRect.width ?? 0);
    if (width > 0) this.width = width;
  });
  #plot: uPlot | undefined;
  /** What the plot was made for. */
  #shape = '';
  /** What it shows. */
  #drawnText = '';

  override connectedCallback() {
    super.connectedCallback();
    this.#scheme.addEventListener('change', this.#onScheme);
    this.#sizes.observe(this);
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    this.#scheme.removeEventListener('change', this.#onScheme);
    this.#sizes.disconnect();
    this.removePlot();
  }

  get plot() {
    return this.#plot;
  }

  get visible() {
    return this.series.filter(({ label }) => !this.turnedOff.has(label));
  }

  toggle(label: string) {
    const turnedOff = new Set(this.turnedOff);
    if (!turnedOff.delete(label)) turnedOff.add(label);
    this.turnedOff = turnedOff;
  }

  override updated() {
    const target = this.querySelector('.plot');
    if (!(target instanceof HTMLElement) || this.width === 0) return this.removePlot();
    const { kind, unit, visible: series, width } = this;
    const shape = JSON.stringify([kind, unit, series.map(({ label, tone }) => [label, tone]), this.dark]);
    const data = chartData(kind, this.times, series);
    if (this.#plot === undefined || this.#shape !== shape || this.#plot.root.parentElement !== target) {
      this.removePlot();
      this.#shape = shape;
      const options = chartOptions({
        kind,
        unit,
        series,
        width,
        height,
        colorOf: (tone) => colorOf(target, tone),
        format: (value) => this.format(value),
        onCursor: (index) => (this.index = index),
      });
      this.#plot = new uPlot(options, data, target);
      return undefined;
    }
    if (this.#plot.width !== width) this.#plot.setSize({ width, height });
    this.drawIfChanged(data);
    return undefined;
  }

  /** Moving the cursor must not draw everything again. */
  drawIfChanged(data: uPlot.AlignedData) {
    const text = JSON.stringify(data);
    if (text === this.#drawnText) return;
    this.#drawnText = text;
    this.#plot?.setData(data);
  }

  removePlot() {
    this.#plot?.destroy();
    this.#plot = undefined;
  }

  override render() {
    return html`<figure class="time-chart" aria-labelledby=${this.#id}>
      <figcaption>
        <h3 id=${this.#id}>${this.heading}</h3>
        <button
          type="button"
          class="wa-plain"
          aria-expanded=${this.asTable}
          @click=${() => (this.asTable = !this.asTable)}
        >
          ${this.asTable ? 'Show as chart' : 'Show as table'}
        </button>
      </figcaption>
      ${this.asTable ? this.table() : this.chart()}
    </figure>`;
  }

  chart() {
    return html`${
        this.series.length < 2
          ? nothing
          : html`<ul class="legend" aria-label="Series">
              ${this.series.map(
                ({ label, tone }) =>
                  html`<li>
                    <button
                      type="button"
                      aria-pressed=${!this.turnedOff.has(label)}
                      @click=${() => this.toggle(label)}
                    >
                      <span class="swatch tone-${tone}"></span>${label}
                    </button>
                  </li>`,
              )}
            </ul>`
      }
      <div class="plot" role="img" aria-label=${this.summary()}></div>
      <p class="readout quiet">${this.readout()}</p>`;
  }

  summary() {
    const newest = this.series.map(({ label, values }) => `${label} ${this.formatOrNone(values.at(-1))}`);
    return `${this.heading}: ${this.times.length} points; newest: ${newest.join(', ')}`;
  }

  /** The point under the cursor. */
  readout() {
    const seconds = this.index === undefined ? undefined : this.times[this.index];
    if (seconds === undefined) return html`&nbsp;`;
    const { index = 0 } = this;
    const values = this.visible.map(({ label, values }) => `${label} ${this.formatOrNone(values[index])}`);
    return html`<strong>${this.timeText(seconds)}</strong> · ${values.join(' · ')}`;
  }

  timeText(seconds: number) {
    const date = new Date(seconds * 1000);
    if (this.unit === 'utc-month') return utcMonth.format(date);
    return this.unit === 'utc-day'
      ? `${utcDate.format(date)} (UTC day)`
      : `${exactTime.format(date)} · ${utc(date)}`;
  }

  formatOrNone(value: number | null | undefined) {
    return value === null || value === undefined ? '–' : this.format(value);
  }

  table() {
    return table({
      label: `${this.heading}, table`,
      region: 'figures',
      headings: ['Time', ...this.series.map(({ label }) => numeric(label))],
      rows: this.times.map((seconds, index) => this.row(seconds, index)).toReversed(),
    });
  }

  row(seconds: number, index: number) {
    const date = new Date(seconds * 1000);
    return html`<tr>
      <th scope="row">
        <time datetime=${date.toISOString()} title=${utc(date)}>${rowTimes[this.unit].format(date)}</time>
      </th>
      ${this.series.map(({ values }) => html`<td class="number">${this.formatOrNone(values[index])}</td>`)}
    </tr>`;
  }
}

/** The colour of a tone as a canvas needs it, of the scheme in use. */
function colorOf(parent: HTMLElement, tone: string) {
  const probe = document.createElement('span');
  probe.className = `tone-${tone}`;
  parent.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

customElements.define('time-chart', TimeChart);
