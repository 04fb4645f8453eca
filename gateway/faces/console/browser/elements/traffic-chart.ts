import '../../../browser/elements/time-chart.ts';
import './first-use.ts';
import { html } from 'lit';
import type { ChartSeries } from '../../../browser/elements/chart-options.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { formatRate } from '../../../browser/format.ts';
import { api } from '../api.ts';
import type { KeyList, Page, TrafficPoint } from '../responses.ts';

/** Classes of status from the bottom of a stack to its top, and their tones. */
const classes = [
  ['2xx', '2xx served', 'good'],
  ['3xx', '3xx', 'quiet'],
  ['4xx', '4xx refused', 'caution'],
  ['5xx', '5xx failed', 'bad'],
  ['aborted', 'aborted', 'quiet'],
  ['cut_off', 'cut off', 'other'],
] as const;

interface Content {
  points: TrafficPoint[];
  /** Number of keys; undefined if there were requests. */
  keys: number | undefined;
}

/** The requests of the last 24 hours by the minute, or their durations. */
class TrafficChart extends PolledElement<Content> {
  /** Whether there were requests in the last minute, which the record does not have yet. */
  isBusy = false;
  isUsed = false;
  showsDurations = false;

  override get pauseMs() {
    return 10_000;
  }

  async read() {
    const { items: points } = await api.get<Page<TrafficPoint>>('/api/traffic');
    this.isUsed ||= this.isBusy || points.some(({ byStatus }) => Object.keys(byStatus).length > 0);
    if (this.isUsed) return { points, keys: undefined };
    return { points, keys: (await api.get<KeyList>('/api/keys?limit=1')).total };
  }

  view({ points, keys }: Content) {
    if (keys !== undefined && !this.isBusy) {
      return html`<h2>The last 24 hours</h2>
        <first-use .keys=${keys} .host=${this} .done=${() => this.reload()}></first-use>`;
    }
    const choice = (shows: boolean, label: string) =>
      html`<button
        type="button"
        class="choice"
        aria-pressed=${this.showsDurations === shows}
        @click=${() => (this.showsDurations = shows)}
      >
        ${label}
      </button>`;
    return html`<div class="section-head">
        <h2>The last 24 hours</h2>
        <div class="actions" role="group" aria-label="Chart of">
          ${choice(false, 'Requests')} ${choice(true, 'Durations')}
        </div>
      </div>
      <time-chart
        class="panel"
        heading=${this.showsDurations ? 'Duration of served requests (ms)' : 'Requests a second'}
        kind=${this.showsDurations ? 'lines' : 'stacked'}
        .times=${points.map(({ at }) => Date.parse(at) / 1000)}
        .series=${this.showsDurations ? durations(points) : requests(points)}
        .format=${formatRate}
      ></time-chart>`;
  }
}

const durations = (points: readonly TrafficPoint[]): ChartSeries[] => [
  { label: 'p50', tone: 'brand', values: points.map(({ latencyMs }) => latencyMs?.p50 ?? null) },
  { label: 'p99', tone: 'caution', values: points.map(({ latencyMs }) => latencyMs?.p99 ?? null) },
];

/** Requests a second by class of status. Classes that do not occur are left out, except for 2xx. */
const requests = (points: readonly TrafficPoint[]): ChartSeries[] =>
  classes
    .map(([status, label, tone]) => ({
      status,
      label,
      tone,
      values: points.map(({ byStatus }) => (byStatus[status] ?? 0) / 60),
    }))
    .filter(({ status, values }) => status === '2xx' || values.some((value) => value > 0));

customElements.define('traffic-chart', TrafficChart);
