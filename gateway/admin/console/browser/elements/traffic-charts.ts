import './traffic-range.ts';
import { html, nothing } from 'lit';
import { choice } from '../../../../browser/elements/fields.ts';
import { LightElement } from '../../../../browser/elements/light-element.ts';
import { inlineFailure, loading } from '../../../../browser/elements/page-state.ts';
import { Refresher } from '../../../../browser/refresher.ts';
import { url } from '../../../../browser/url.ts';
import { api } from '../api.ts';
import { livePoints, type StatusPoint } from '../live-points.ts';
import { live } from '../live.ts';
import type { AuditEntry, KeyList, Page, Traffic } from '../responses.ts';
import { router } from '../router.ts';
import { rangeOf, zoomedQuery, type ChartRange } from '../shown-range.ts';
import { entryMarks } from './chart-marks.ts';
import { entryTable } from './entry-table.ts';
import { durationChart, refusalChart, requestChart, secondsOf } from './traffic-panels.ts';

/** What is no plan of keys. */
const planLabels: Record<string, string> = {
  none: 'Without a valid key',
  anonymous: 'Refused addresses',
};

const maxEntries = 200;

/** Charts of the record of traffic, with the changes that operators have made. Range and plan are in the address. */
class TrafficCharts extends LightElement {
  traffic: Traffic | undefined;
  /** Changes by operators in the range, newest first. */
  entries: AuditEntry[] = [];
  /** Whether there are older changes in the range, which are not shown. */
  hasMore = false;
  /** Number of keys, if there has been no traffic at all; undefined if there has been some. */
  keys: number | undefined;
  /** Whether there has been traffic. */
  #isUsed = false;
  query = router.location.query;
  /** Seconds of the last minutes, which the record does not have yet. */
  seconds: StatusPoint[] = [];

  readonly refresher = new Refresher(
    this,
    () => this.read(),
    () => this.range.refreshMs,
  );

  constructor() {
    super();
    this.whileConnected(() =>
      router.subscribe(({ query }) => {
        this.query = query;
        void this.refresher.now();
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
  }

  get range() {
    return rangeOf(this.query);
  }

  get plan() {
    return this.query.get('plan') ?? '';
  }

  async read() {
    const plan = this.plan === '' ? '' : url`&plan=${this.plan}`;
    const traffic = await api.get<Traffic>(`/api/traffic?${this.range.search}${plan}`);
    const keys = await this.keysWithoutTraffic(traffic);
    const { from, to } = this.shown(traffic);
    const [since, until] = [from, to].map((seconds) => new Date(seconds * 1000).toISOString());
    const changes = await api.get<Page<AuditEntry>>(
      url`/api/audit?since=${since ?? ''}&until=${until ?? ''}&limit=${maxEntries}`,
    );
    this.traffic = traffic;
    this.keys = keys;
    this.hasMore = changes.next !== null;
    // Who signs in changes nothing, and defaults are nobody's change.
    this.entries = changes.items.filter(({ action }) => !/^(?:console|tokens)\.|\.seed$/.test(action));
  }

  /** @returns the number of keys if the record has no traffic at all */
  async keysWithoutTraffic({ total }: Traffic) {
    if (total.requests > 0) this.#isUsed = true;
    if (this.#isUsed || this.range.isFree || this.plan !== '') return undefined;
    // The longest reading, but for an unused gateway it is made once: then the last hour says that this has changed.
    if (this.keys === undefined) {
      const week = await api.get<Traffic>('/api/traffic?last=7d');
      this.#isUsed = week.total.requests > 0;
      if (this.#isUsed) return undefined;
    }
    await import('./first-use.ts');
    return (await api.get<KeyList>('/api/keys?limit=1')).total;
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
      ${inlineFailure(this.refresher.failure)} ${this.content()}
    </section>`;
  }

  controls() {
    const plans = (this.traffic?.plans ?? []).map((name) => [name, planLabels[name] ?? name] as const);
    return html`${choice('Plan', undefined, [['', 'All'], ...plans], {
        className: 'inline',
        value: this.plan,
        onChange: (plan) => router.setQuery({ plan }),
      })} <traffic-range></traffic-range>`;
  }

  content() {
    if (this.traffic === undefined) {
      // Without Redis there is no record, but there is what this gateway counts.
      return this.refresher.failure === undefined ? loading() : requestChart(this.seconds);
    }
    if (this.isUnused) {
      return html`<first-use
        .keys=${this.keys ?? 0}
        .host=${this}
        .done=${() => void this.refresher.now()}
      ></first-use>`;
    }
    return html`${this.charts(this.traffic)}${this.changes()}`;
  }

  /** Whether nobody has used the gateway yet. */
  get isUnused() {
    return this.keys !== undefined && !this.seconds.some(hasRequests);
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
