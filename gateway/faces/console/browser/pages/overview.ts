import '../../../browser/elements/time-chart.ts';
import { html } from 'lit';
import type { ChartSeries } from '../../../browser/elements/chart-options.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { sparkline } from '../../../browser/elements/sparkline.ts';
import { formatNumber, formatRate, formatShare } from '../../../browser/format.ts';
import { api } from '../api.ts';
import { firstUse } from '../elements/first-use.ts';
import { busiestTable, milliseconds } from '../elements/fleet-tables.ts';
import { problemList } from '../elements/problem-list.ts';
import type { KeyList, LiveState, Page, TrafficPoint } from '../responses.ts';

interface Content {
  state: LiveState;
  /** The minutes of the last 24 hours that are over. */
  points: TrafficPoint[];
  /** Number of keys; undefined if there were requests. */
  keys: number | undefined;
}

/** Time in which the record of minutes hardly changes. */
const trafficMs = 10_000;
/** Minutes of a sparkline. */
const shortMinutes = 60;

/** Classes of status from the bottom of a stack to its top, and their tones. */
const classes = [
  ['2xx', '2xx served', 'good'],
  ['3xx', '3xx', 'quiet'],
  ['4xx', '4xx refused', 'caution'],
  ['5xx', '5xx failed', 'bad'],
  ['aborted', 'aborted', 'quiet'],
  ['cut_off', 'cut off', 'other'],
] as const;

/** What happens now, on one screen: what is wrong, four figures of the last minute, a chart, and the busiest customers. */
class PageOverview extends PolledElement<Content> {
  showsDurations = false;
  #trafficAt = -Infinity;

  override get pauseMs() {
    return 2000;
  }

  /** Without Redis there are neither minutes nor keys: the state says so. */
  async read() {
    const isDue = performance.now() > this.#trafficAt + trafficMs;
    if (isDue) this.#trafficAt = performance.now();
    const [state, traffic] = await Promise.all([
      api.get<LiveState>('/api/live'),
      isDue ? api.get<Page<TrafficPoint>>('/api/traffic').catch(() => undefined) : undefined,
    ]);
    const points = traffic?.items ?? this.content?.points ?? [];
    const isUsed = state.recent.requests > 0 || points.some((point) => requestsIn(point) > 0);
    const keys = isUsed
      ? undefined
      : await api.get<KeyList>('/api/keys?limit=1').then(
          ({ total }) => total,
          () => undefined,
        );
    return { state, points, keys };
  }

  override render() {
    return html`<h1>Overview</h1>
      ${super.render()}`;
  }

  view({ state, points, keys }: Content) {
    return html`<section aria-label="Problems" role="status">${problemList(state)}</section>
      ${figures(state, points.slice(-shortMinutes))}
      <div class="overview">
        <section>
          ${
            keys === undefined
              ? this.chart(points)
              : html`<h2>The last 24 hours</h2>
                  ${firstUse(this, keys)}`
          }
        </section>
        <section>
          <h2>Busiest customers</h2>
          ${busiestTable(state)}
        </section>
      </div>`;
  }

  chart(points: readonly TrafficPoint[]) {
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

customElements.define('page-overview', PageOverview);

const failedIn = ({ byStatus }: Pick<TrafficPoint, 'byStatus'>) => byStatus['5xx'] ?? 0;
const requestsIn = ({ byStatus }: TrafficPoint) =>
  Object.values(byStatus).reduce((sum, requests) => sum + requests, 0);

/** Figures of the last minute, with those of the last hour as a line. */
function figures({ recent }: LiveState, points: readonly TrafficPoint[]) {
  const { requests, refused, withoutKey, latencyMs } = recent;
  const failed = failedIn(recent);
  const figure = (name: string, value: string, detail: string, of: (point: TrafficPoint) => number) =>
    html`<section class="panel reading">
      <h2>${name}</h2>
      <strong class="figure">${value}</strong> ${sparkline(points.map(of))}
      <p class="quiet">${detail}</p>
    </section>`;
  return html`<div class="figures-now">
    ${figure('Requests a second', formatRate(requests / 60), `${formatNumber(requests)} in the last minute`, requestsIn)}
    ${figure(
      'Success',
      requests === 0 ? '–' : formatShare(1 - failed / requests),
      `${formatNumber(failed)} failed`,
      (point) => 1 - failedIn(point) / Math.max(1, requestsIn(point)),
    )}
    ${figure(
      'p99',
      milliseconds(latencyMs?.p99 ?? null),
      `p50 ${milliseconds(latencyMs?.p50 ?? null)}`,
      (point) => point.latencyMs?.p99 ?? 0,
    )}
    ${figure(
      'Refused',
      formatNumber(refused + withoutKey),
      `${formatNumber(withoutKey)} without a valid key`,
      (point) => point.refused,
    )}
  </div>`;
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
