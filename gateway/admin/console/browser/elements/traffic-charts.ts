import './traffic-range.ts';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { livePoints, type StatusPoint } from '../live-points.ts';
import { live } from '../live.ts';
import type { AuditEntry, KeyList, Page, Traffic } from '../responses.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';
import { rangeOf, zoomedQuery, type ChartRange } from '../shown-range.ts';
import { url } from '../url.ts';
import { entryMarks } from './chart-marks.ts';
import { entryTable } from './entry-table.ts';
import { LightElement } from './light-element.ts';
import { inlineFailure, loading } from './page-state.ts';
import { durationChart, refusalChart, requestChart } from './traffic-panels.ts';
import { secondsOf } from './traffic-series.ts';

/** What is no plan of keys. */
const planLabels: Record<string, string> = {
  none: 'Without a valid key',
  anonymous: 'Refused addresses',
};

const maxEntries = 200;

/** Charts of the record of traffic, with the changes that operators have made. Range and plan are in the address. */
class TrafficCharts extends LightElement {
  static override properties = {
    traffic: { state: true },
    entries: { state: true },
    keys: { state: true },
    failure: { state: true },
    query: { state: true },
    seconds: { state: true },
  };

  traffic: Traffic | undefined;
  /** Changes by operators in the range, newest first. */
  entries: AuditEntry[] = [];
  /** Whether there are older changes in the range, which are not shown. */
  hasMore = false;
  /** Number of keys, if there has been no traffic at all; undefined if there has been some. */
  keys: number | undefined;
  /** Whether there has been traffic. */
  isUsed = false;
  failure: unknown;
  query = router.location.query;
  /** Seconds of the last minutes, which the record does not have yet. */
  seconds: StatusPoint[] = [];
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
    this.whileConnected(() =>
      live.subscribe(({ name, content }) => {
        if (name === 'history') this.seconds = content;
        // The history has the points up to the newest state.
        else if (content.traffic !== null && this.seconds.at(-1)?.at !== content.traffic.at) {
          const { at, seconds, counted } = content.traffic;
          this.seconds = [...this.seconds.slice(-keptSeconds), { at, seconds, byStatus: counted.byStatus }];
        }
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
    return rangeOf(this.query);
  }

  get plan() {
    return this.query.get('plan') ?? '';
  }

  async load() {
    clearTimeout(this.timer);
    this.request?.abort();
    const request = new AbortController();
    this.request = request;
    try {
      await this.read(request.signal);
      this.failure = undefined;
    } catch (error) {
      if (request.signal.aborted) return;
      this.failure = error;
    }
    if (!document.hidden) this.schedule();
  }

  async read(signal: AbortSignal) {
    const plan = this.plan === '' ? '' : url`&plan=${this.plan}`;
    const traffic = await api.get<Traffic>(`/api/traffic?${this.range.search}${plan}`, signal);
    const keys = await this.keysWithoutTraffic(traffic, signal);
    const { from, to } = this.shown(traffic);
    const [since, until] = [from, to].map((seconds) => new Date(seconds * 1000).toISOString());
    const changes = await api.get<Page<AuditEntry>>(
      url`/api/audit?since=${since ?? ''}&until=${until ?? ''}&limit=${maxEntries}`,
      signal,
    );
    this.traffic = traffic;
    this.keys = keys;
    this.hasMore = changes.next !== null;
    // Who signs in changes nothing, and defaults are nobody's change.
    this.entries = changes.items.filter(({ action }) => !/^(?:console|tokens)\.|\.seed$/.test(action));
  }

  /** @returns the number of keys if the record has no traffic at all */
  async keysWithoutTraffic({ total }: Traffic, signal: AbortSignal) {
    if (total.requests > 0) this.isUsed = true;
    if (this.isUsed || this.range.isFree || this.plan !== '') return undefined;
    // The longest reading, but for an unused gateway it is made once: then the last hour says that this has changed.
    if (this.keys === undefined) {
      const week = await api.get<Traffic>('/api/traffic?last=7d', signal);
      this.isUsed = week.total.requests > 0;
      if (this.isUsed) return undefined;
    }
    await import('./first-use.ts');
    return (await api.get<KeyList>('/api/keys?limit=1', signal)).total;
  }

  /** Reads again after a while, but not for a person who does not want to sign in again. */
  schedule() {
    this.timer = setTimeout(
      () => (session.hasGivenUp ? this.schedule() : void this.load()),
      this.range.refreshMs,
    );
  }

  /** What the axes of all charts show. A range up to now ends with the newest second. */
  shown({ total }: Traffic): ChartRange {
    const { range } = this;
    if (range.isFree) return { from: range.from, to: range.to };
    const end = secondsOf(total) + total.seconds;
    const to = Math.max(end, ...this.seconds.slice(-1).map(secondsOf));
    return { from: to - range.seconds, to };
  }

  override render() {
    return html`<section aria-labelledby="traffic-heading">
      <div class="section-head">
        <h2 id="traffic-heading">Traffic</h2>
        ${this.isUnused ? nothing : this.controls()}
      </div>
      ${inlineFailure(this.failure)} ${this.content()}
    </section>`;
  }

  controls() {
    return html`<label class="inline"
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
      <traffic-range></traffic-range>`;
  }

  content() {
    if (this.traffic === undefined) {
      // Without Redis there is no record, but there is what this gateway counts.
      return this.failure === undefined ? loading() : requestChart(this.seconds);
    }
    if (this.isUnused) {
      return html`<first-use .keys=${this.keys ?? 0} @issued=${() => void this.load()}></first-use>`;
    }
    return html`${this.charts(this.traffic)}${this.changes()}`;
  }

  /** Whether nobody has used the gateway yet. */
  get isUnused() {
    const dialog = this.querySelector('issue-dialog');
    // A key is shown once: its dialog stays, whoever sends the first request.
    if (dialog !== null && 'open' in dialog && dialog.open === true) return true;
    return this.keys !== undefined && !this.seconds.some(hasRequests);
  }

  /** The plan of a shared address may have no traffic. */
  get planNames() {
    const plans = this.traffic?.plans ?? [];
    return this.plan === '' || plans.includes(this.plan) ? plans : [...plans, this.plan];
  }

  charts(traffic: Traffic) {
    const { points, total, issues } = traffic;
    const isQuiet = total.requests === 0 && this.plan !== 'anonymous';
    const frame = { range: this.shown(traffic), marks: entryMarks(this.entries) };
    return html`${isQuiet ? html`<p class="quiet">There were no requests in this time.</p>` : nothing}
      ${issues.map(({ key, issue }) => html`<p class="failure-text">${key}: ${issue}</p>`)}
      <div class="charts" @zoom=${this.zoomIn} @zoom-out=${this.zoomOut}>
        ${requestChart([...points, ...this.newest(traffic)], frame)} ${refusalChart(points, frame)}
        ${
          this.plan === ''
            ? durationChart(points, frame)
            : html`<p class="panel quiet">
                Durations are recorded for all plans together:
                <a href=${`/console?${this.range.search}`}>show all plans</a>
              </p>`
        }
      </div>`;
  }

  /** What the record does not have yet, in its steps, while the newest of all plans is shown. */
  newest({ stepMs, total }: Traffic) {
    if (this.range.isFree || this.plan !== '' || stepMs > maxLiveStepMs) return [];
    return livePoints(this.seconds, secondsOf(total) + total.seconds, stepMs / 1000);
  }

  zoomIn({ detail }: CustomEvent<ChartRange>) {
    router.setQuery(zoomedQuery(detail), { replace: false });
  }

  zoomOut() {
    if (this.range.isFree) router.setQuery({ from: '', to: '' }, { replace: false });
  }

  changes() {
    const { entries } = this;
    if (entries.length === 0)
      return html`<p class="quiet">No operator has changed anything in this time.</p>`;
    return html`<details class="changes-shown">
      <summary>
        Changes by operators in this time (${entries.length}${this.hasMore ? ' or more' : ''})
      </summary>
      ${entryTable('Changes', entries)}
      <p><a href="/console/audit">Audit log</a></p>
    </details>`;
  }
}

/** The record lags behind by seconds, and by more while Redis is unavailable. */
const keptSeconds = 3600;
/** With longer steps, the newest point is not that old. */
const maxLiveStepMs = 60_000;

const hasRequests = ({ byStatus }: StatusPoint) => Object.values(byStatus).some((count) => count > 0);

customElements.define('traffic-charts', TrafficCharts);
