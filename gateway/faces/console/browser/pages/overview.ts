import '../elements/traffic-chart.ts';
import { html } from 'lit';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { formatNumber, formatRate, formatShare } from '../../../browser/format.ts';
import { api } from '../api.ts';
import { busiestTable, milliseconds } from '../elements/fleet-tables.ts';
import { problemList } from '../elements/problem-list.ts';
import type { LiveState } from '../responses.ts';

/** What happens now, on one screen: what is wrong, four figures of the last minute, a chart, and the busiest customers. */
class PageOverview extends PolledElement<LiveState> {
  override get pauseMs() {
    return 2000;
  }

  read() {
    return api.get<LiveState>('/api/live');
  }

  override render() {
    return html`<h1>Overview</h1>
      ${super.render()}`;
  }

  view(state: LiveState) {
    return html`<section aria-label="Problems" role="status">${problemList(state)}</section>
      ${figures(state)}
      <div class="overview">
        <traffic-chart .isBusy=${state.recent.requests > 0}></traffic-chart>
        <section>
          <h2>Busiest customers</h2>
          ${busiestTable(state)}
        </section>
      </div>`;
  }
}

customElements.define('page-overview', PageOverview);

/** Figures of the last minute. */
function figures({ recent }: LiveState) {
  const { requests, byStatus, refused, withoutKey, latencyMs } = recent;
  const failed = byStatus['5xx'] ?? 0;
  return html`<dl class="figures-now">
    ${figure('Requests a second', formatRate(requests / 60), `${formatNumber(requests)} in the last minute`)}
    ${figure('Success', requests === 0 ? '–' : formatShare(1 - failed / requests), `${formatNumber(failed)} failed`)}
    ${figure('p99', milliseconds(latencyMs?.p99 ?? null), `p50 ${milliseconds(latencyMs?.p50 ?? null)}`)}
    ${figure('Refused', formatNumber(refused + withoutKey), `${formatNumber(withoutKey)} without a valid key`)}
  </dl>`;
}

const figure = (name: string, value: string, detail: string) =>
  html`<div class="panel">
    <dt>${name}</dt>
    <dd><strong>${value}</strong> <span class="quiet">${detail}</span></dd>
  </div>`;
