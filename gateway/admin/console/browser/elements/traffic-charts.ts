import './time-chart.ts';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formatRate } from '../format.ts';
import type { Traffic, TrafficPoint } from '../responses.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';
import { LightElement } from './light-element.ts';
import { inlineFailure, loading } from './page-state.ts';
import { occurring, perSecond, refusalSeries, requestSeries, secondsOf } from './traffic-series.ts';

type Range = readonly [last: string, label: string, refreshMs: number];
const defaultRange: Range = ['1h', 'Last hour', 10_000];
const ranges: readonly Range[] = [
  defaultRange,
  ['6h', '6 hours', 60_000],
  ['24h', '24 hours', 60_000],
  ['7d', '7 days', 300_000],
];

/** What is no plan of keys. */
const planLabels: Record<string, string> = {
  none: 'Without a valid key',
  anonymous: 'Refused addresses',
};

/** Charts of the record of traffic. Range and plan are in the address. */
class TrafficCharts extends LightElement {
  static override properties = { traffic: { state: true }, failure: { state: true }, query: { state: true } };

  traffic: Traffic | undefined;
  failure: unknown;
  query = router.location.query;
  timer: ReturnType<typeof setTimeout> | undefined;
  request: AbortController | undefined;

  constructor() {
    super();
    this.whileConnected(() =>
      router.subscribe(({ query }) => {
        this.query = query;
        void this.load();
      }),
    );
    this.whileConnected(() => {
      const onVisibility = () => {
        if (!document.hidden) void this.load();
      };
      document.addEventListener('visibilitychange', onVisibility);
      void this.load();
      return () => {
        document.removeEventListener('visibilitychange', onVisibility);
        clearTimeout(this.timer);
        this.request?.abort();
      };
    });
  }

  get range() {
    const asked = this.query.get('last');
    return ranges.find(([last]) => last === asked) ?? defaultRange;
  }

  get plan() {
    return this.query.get('plan') ?? '';
  }

  async load() {
    clearTimeout(this.timer);
    this.request?.abort();
    const request = new AbortController();
    this.request = request;
    const [last] = this.range;
    const plan = this.plan === '' ? '' : url`&plan=${this.plan}`;
    try {
      this.traffic = await api.get<Traffic>(`/api/traffic?last=${last}${plan}`, request.signal);
      this.failure = undefined;
    } catch (error) {
      if (request.signal.aborted) return;
      this.failure = error;
    }
    if (!document.hidden) this.schedule();
  }

  /** Reads again after a while, but not for a person who does not want to sign in again. */
  schedule() {
    const [, , refreshMs] = this.range;
    this.timer = setTimeout(() => (session.hasGivenUp ? this.schedule() : void this.load()), refreshMs);
  }

  override render() {
    return html`<section aria-labelledby="traffic-heading">
      <div class="section-head">
        <h2 id="traffic-heading">Traffic</h2>
        <div class="actions" role="group" aria-label="Time range">
          ${ranges.map(
            ([last, label]) =>
              html`<button
                type="button"
                class="choice"
                aria-pressed=${last === this.range[0]}
                @click=${() => router.setQuery({ last: last === defaultRange[0] ? '' : last })}
              >
                ${label}
              </button>`,
          )}
        </div>
        <label class="inline"
          >Plan
          <select
            .value=${this.plan}
            @change=${(event: Event) => {
              if (event.target instanceof HTMLSelectElement) router.setQuery({ plan: event.target.value });
            }}
          >
            <option value="" ?selected=${this.plan === ''}>All</option>
            ${this.planNames.map(
              (name) =>
                html`<option value=${name} ?selected=${name === this.plan}>
                  ${planLabels[name] ?? name}
                </option>`,
            )}
          </select>
        </label>
      </div>
      ${inlineFailure(this.failure)}
      ${this.traffic === undefined ? (this.failure === undefined ? loading() : nothing) : this.charts(this.traffic)}
    </section>`;
  }

  /** The plan of a shared address may have no traffic. */
  get planNames() {
    const plans = this.traffic?.plans ?? [];
    return this.plan === '' || plans.includes(this.plan) ? plans : [...plans, this.plan];
  }

  charts({ points, total, issues }: Traffic) {
    const times = points.map(secondsOf);
    const rate = (count: (point: TrafficPoint) => number) =>
      points.map((point) => perSecond(count(point), point.seconds));
    const quantile = (name: 'p50' | 'p99') => points.map(({ latencyMs }) => latencyMs.served?.[name] ?? null);
    const isQuiet = total.requests === 0 && this.plan !== 'anonymous';
    return html`${isQuiet ? html`<p class="quiet">There were no requests in this time.</p>` : nothing}
      ${issues.map(({ key, issue }) => html`<p class="failure-text">${key}: ${issue}</p>`)}
      <div class="charts">
        <time-chart
          class="panel wide"
          heading="Requests a second"
          kind="stacked"
          .times=${times}
          .series=${requestSeries(points)}
          .format=${formatRate}
        ></time-chart>
        <time-chart
          class="panel"
          heading="Refusals a second"
          kind="stacked"
          .times=${times}
          .series=${[
            ...refusalSeries(points),
            { label: 'during a ban', tone: 'bad', values: rate(({ bannedRequests }) => bannedRequests) },
            ...occurring([
              {
                label: 'without a valid key',
                tone: 'quiet',
                values: rate(({ unauthenticated = 0 }) => unauthenticated),
              },
              {
                label: 'blocked address',
                tone: 'other',
                values: rate(({ blockedRequests = 0 }) => blockedRequests),
              },
            ]),
          ]}
          .format=${formatRate}
        ></time-chart>
        ${
          this.plan === ''
            ? html`<time-chart
                class="panel"
                heading="Duration of served requests (ms)"
                .times=${times}
                .series=${[
                  { label: 'p50', tone: 'brand', values: quantile('p50') },
                  { label: 'p99', tone: 'caution', values: quantile('p99') },
                ]}
                .format=${formatRate}
              ></time-chart>`
            : html`<p class="panel quiet">
                Durations are recorded for all plans together:
                <a href="/console?last=${this.range[0]}">show all plans</a>
              </p>`
        }
      </div>`;
  }
}

customElements.define('traffic-charts', TrafficCharts);
