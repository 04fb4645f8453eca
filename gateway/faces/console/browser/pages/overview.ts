import '../../../browser/elements/time-chart.ts';
import { html, nothing } from 'lit';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { sinceFirst, sparkline } from '../../../browser/elements/sparkline.ts';
import { stateTag } from '../../../browser/elements/state-tag.ts';
import { count, listTable } from '../../../browser/elements/table.ts';
import type { ChartSeries } from '../../../browser/elements/time-chart.ts';
import {
  formatMilliseconds,
  formatNumber,
  formatRate,
  formatShare,
  withTimes,
} from '../../../browser/format.ts';
import { api } from '../api.ts';
import { keyLink } from '../key.ts';
import type { LiveState, Page, Problem, ProblemLink, TrafficPoint } from '../responses.ts';

interface Content {
  state: LiveState;
  /** The minutes of the last 24 hours that are over. */
  points: TrafficPoint[];
}

/** Time in which the record of minutes hardly changes. */
const trafficMs = 10_000;
/** So many are on one screen with the chart. */
const shownCustomers = 7;
/** Time that a sparkline shows. */
const sparklineMs = 3_600_000;

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
export class PageOverview extends PolledElement<Content> {
  #trafficAt = -Infinity;

  async read() {
    const isDue = performance.now() > this.#trafficAt + trafficMs;
    if (isDue) this.#trafficAt = performance.now();
    const [state, traffic] = await Promise.all([
      api.get<LiveState>('/api/live'),
      isDue ? api.get<Page<TrafficPoint>>('/api/traffic').catch(() => undefined) : undefined,
    ]);
    return { state, points: traffic?.items ?? this.content?.points ?? [] };
  }

  override render() {
    return html`<h1>Overview</h1>
      ${super.render()}`;
  }

  view({ state, points }: Content) {
    return html`<section aria-label="Problems" role="status">${problemList(state)}</section>
      ${figures(state, points)}
      <div class="overview grid">
        <section>
          <h2>The last 24 hours</h2>
          <time-chart
            heading="Requests a second"
            .times=${points.map(({ at }) => Date.parse(at) / 1000)}
            .series=${requests(points)}
            .format=${formatRate}
          ></time-chart>
        </section>
        <section>
          <h2>Busiest customers</h2>
          ${busiestTable(state)}
        </section>
      </div>`;
  }
}

const failedIn = ({ byStatus }: Pick<TrafficPoint, 'byStatus'>) => byStatus['5xx'] ?? 0;
const requestsIn = ({ byStatus }: TrafficPoint) =>
  Object.values(byStatus).reduce((sum, requests) => sum + requests, 0);

/** Figures of the last minute, with those of the last hour as a line. */
function figures({ at: now, recent }: LiveState, points: readonly TrafficPoint[]) {
  const { requests, refused, withoutKey, latencyMs } = recent;
  const failed = failedIn(recent);
  const shown = points.filter(({ at }) => Date.parse(at) >= Date.parse(now) - sparklineMs);
  const counts = shown.map(requestsIn);
  const figure = (name: string, value: string, detail: string, of: (point: TrafficPoint) => number | null) =>
    html`<section class="panel reading">
      <h2>${name}</h2>
      ${sparkline(sinceFirst(shown.map(of), counts))} <strong class="figure">${value}</strong>
      <p class="quiet">${detail}</p>
    </section>`;
  return html`<div class="figures-now panels grid">
    ${figure('Requests a second', formatRate(requests / 60), `${formatNumber(requests)} in the last minute`, requestsIn)}
    ${figure(
      'Success',
      requests === 0 ? '–' : formatShare(1 - failed / requests),
      `${formatNumber(failed)} failed`,
      (point) => (requestsIn(point) === 0 ? null : 1 - failedIn(point) / requestsIn(point)),
    )}
    ${figure(
      'p99',
      formatMilliseconds(latencyMs?.p99 ?? null),
      `p50 ${formatMilliseconds(latencyMs?.p50 ?? null)}`,
      (point) => point.latencyMs?.p99 ?? null,
    )}
    ${figure(
      'Refused',
      formatNumber(refused + withoutKey),
      `${formatNumber(withoutKey)} without a valid key`,
      (point) => point.refused,
    )}
  </div>`;
}

/** Requests a second by class of status. Classes that do not occur are left out, except for 2xx. */
function requests(points: readonly TrafficPoint[]): ChartSeries[] {
  const counts = points.map(requestsIn);
  const series = classes.map(([status, label, tone]) => {
    const rates = points.map(({ byStatus }) => (byStatus[status] ?? 0) / 60);
    return { status, label, tone, values: sinceFirst(rates, counts) };
  });
  return series.filter(({ status, values }) => status === '2xx' || values.some(Boolean));
}

const busiestTable = ({ busiestCustomers }: LiveState) =>
  listTable(
    'Busiest customers',
    busiestCustomers.slice(0, shownCustomers),
    [
      [
        'Customer',
        (customer) =>
          html`${keyLink(customer)} ${customer.state === 'active' ? nothing : stateTag(customer.state)}`,
      ],
      count('Last minute', ({ requests }) => requests),
      count('Refused', ({ refused, requests }) => (refused === 0 ? null : formatShare(refused / requests))),
    ],
    { none: 'No customer had requests in the last minute.' },
  );

const tones = { critical: 'bad', warning: 'caution', notice: 'good' };

/** What is wrong, in words, most severe first. */
function problemList({ summary, problems }: Pick<LiveState, 'summary' | 'problems'>) {
  const worst = problems[0]?.severity ?? 'notice';
  return html`<p><span class=${tones[worst]} aria-hidden="true">●</span> ${summary}</p>
    <ul class="stack">
      ${problems.map((problem, index) => row(problem, index === 0 && (worst !== 'notice' || problems.length === 1)))}
    </ul>`;
}

const row = ({ id, severity, title, detail, advice, link }: Problem, isOpen: boolean) =>
  html`<li class="panel row spread" data-problem=${id}>
    <details ?open=${isOpen}>
      <summary><span class="tag ${tones[severity]}">${severity}</span> <strong>${title}</strong></summary>
      <p>${withTimes(detail)}</p>
      <p>${advice}</p>
    </details>
    <span class="quiet">${linkTo(link)}</span>
  </li>`;

const linkTo = ({ page, text, heading, document }: ProblemLink) =>
  html`<a href=${page}>${text}</a>
    ${heading === undefined ? nothing : html`and “${heading}” in <code>${document}</code>`}`;
