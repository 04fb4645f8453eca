import '../elements/time-chart.ts';
import '../elements/traffic-charts.ts';
import { html } from 'lit';
import { busiestTable, gatewayTable, upstreamTable } from '../elements/fleet-tables.ts';
import { LightElement } from '../elements/light-element.ts';
import { liveFigures } from '../elements/live-figures.ts';
import { loading } from '../elements/page-state.ts';
import { problemList } from '../elements/problem-list.ts';
import { redisFacts } from '../elements/redis-facts.ts';
import { requestSeries, secondsOf } from '../elements/traffic-series.ts';
import { formatRate, formatTime } from '../format.ts';
import { live } from '../live.ts';
import type { LivePoint, LiveState } from '../responses.ts';

const keptPoints = 300;

/** What happens now: what is wrong, figures of this second, charts, and the state of everything. */
class PageNow extends LightElement {
  static override properties = { state: { state: true }, points: { state: true } };

  state: LiveState | undefined;
  /** Seconds of the last minutes. */
  points: Pick<LivePoint, 'at' | 'seconds' | 'byStatus'>[] = [];

  constructor() {
    super();
    this.whileConnected(() =>
      live.subscribe(({ name, content }) => {
        if (name === 'history') this.points = content;
        else this.showState(content);
      }),
    );
  }

  showState(state: LiveState) {
    this.state = state;
    const { traffic } = state;
    // The history has the points up to the newest state.
    if (traffic === null || this.points.at(-1)?.at === traffic.at) return;
    const { at, seconds, counted } = traffic;
    this.points = [...this.points.slice(1 - keptPoints), { at, seconds, byStatus: counted.byStatus }];
  }

  override render() {
    return html`<h1>Now</h1>
      ${this.state === undefined ? loading() : this.content(this.state)}`;
  }

  content(state: LiveState) {
    return html`<section aria-label="Problems" role="status">${problemList(state)}</section>
      <h2>Requests now</h2>
      ${liveFigures(state)}
      <time-chart
        class="panel"
        compact
        span-seconds=${keptPoints}
        heading="Requests a second, last five minutes"
        kind="stacked"
        .times=${this.points.map(secondsOf)}
        .series=${requestSeries(this.points)}
        .format=${formatRate}
      ></time-chart>
      <traffic-charts></traffic-charts>
      <h2>Gateways and workers</h2>
      ${gatewayTable(state)}
      <div class="panels">
        <section>
          <h2>Upstreams</h2>
          ${upstreamTable(state)}
        </section>
        <section>
          <h2>Redis</h2>
          ${redisFacts(state)}
        </section>
      </div>
      <h2>Busiest keys</h2>
      ${busiestTable(state)}
      <p class="quiet">As of ${formatTime(state.at, { dateStyle: 'time' })}, every second.</p>`;
  }
}

customElements.define('page-now', PageNow);
