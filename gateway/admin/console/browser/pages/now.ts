import '../elements/traffic-charts.ts';
import { html } from 'lit';
import { busiestTable, gatewayTable, upstreamTable } from '../elements/fleet-tables.ts';
import { LightElement } from '../elements/light-element.ts';
import { liveFigures } from '../elements/live-figures.ts';
import { loading } from '../elements/page-state.ts';
import { problemList } from '../elements/problem-list.ts';
import { redisFacts } from '../elements/redis-facts.ts';
import { formatTime } from '../format.ts';
import { live } from '../live.ts';
import type { LiveState } from '../responses.ts';

/** What happens now: what is wrong, figures of this second, charts, and the state of everything. */
class PageNow extends LightElement {
  static override properties = { state: { state: true } };

  state: LiveState | undefined;

  constructor() {
    super();
    this.whileConnected(() =>
      live.subscribe(({ name, content }) => {
        if (name === 'state') this.state = content;
      }),
    );
  }

  override render() {
    return html`<h1>Now</h1>
      ${this.state === undefined ? loading() : this.content(this.state)}`;
  }

  content(state: LiveState) {
    return html`<section aria-label="Problems" role="status">${problemList(state)}</section>
      <h2>Requests now</h2>
      ${liveFigures(state)}
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
