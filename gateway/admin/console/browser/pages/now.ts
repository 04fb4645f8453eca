import '../elements/traffic-chart.ts';
import { html } from 'lit';
import { PolledElement } from '../../../../browser/elements/polled-element.ts';
import {
  formatDuration,
  formatMegabytes,
  formatNumber,
  formatRate,
  formatTime,
} from '../../../../browser/format.ts';
import { api } from '../api.ts';
import { factList } from '../elements/fact-list.ts';
import { busiestTable, gatewayTable, upstreamTable } from '../elements/fleet-tables.ts';
import { problemList } from '../elements/problem-list.ts';
import type { LiveState } from '../responses.ts';

/** What happens now: what is wrong, figures of the last minute, a chart, and the state of everything. */
class PageNow extends PolledElement<LiveState> {
  override get pauseMs() {
    return 2000;
  }

  read() {
    return api.get<LiveState>('/api/live');
  }

  override render() {
    return html`<h1>Now</h1>
      ${super.render()}`;
  }

  view(state: LiveState) {
    return html`<section aria-label="Problems" role="status">${problemList(state)}</section>
      <h2>The last minute</h2>
      ${figures(state)}
      <h2>The last 24 hours</h2>
      <traffic-chart .isBusy=${state.recent.requests > 0}></traffic-chart>
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
      <p class="quiet">As of ${formatTime(state.at, { dateStyle: 'time' })}, every two seconds.</p>`;
  }
}

customElements.define('page-now', PageNow);

/** Figures on top of the page. */
function figures({ recent, activeBans }: LiveState) {
  const { requests, byStatus, refused, withoutKey, bans, latencyMs, errors, redisP99Ms, upstreamP99Ms } =
    recent;
  const byClass = Object.entries(byStatus).map(
    ([status, count]) => `${status.replace('_', ' ')} ${formatNumber(count)}`,
  );
  return html`<dl class="figures-now">
    ${figure('Requests', formatNumber(requests), byClass.join(' · ') || 'none')}
    ${figure('Refused', formatNumber(refused + withoutKey), `${formatNumber(withoutKey)} of them without a valid key`)}
    ${figure('p50', milliseconds(latencyMs?.p50 ?? null), 'of served requests')}
    ${figure('p99', milliseconds(latencyMs?.p99 ?? null), 'of served requests')}
    ${figure('Errors', formatNumber(sum(Object.values(errors))), errorCodes(errors))}
    ${figure('Redis, 99 %', milliseconds(redisP99Ms), 'of the commands')}
    ${figure('Upstream, 99 %', milliseconds(upstreamP99Ms), 'of the slowest service')}
    ${figure('Active bans', formatNumber(activeBans), html`${formatNumber(bans)} new, <a href="/console/bans">Bans</a>`)}
  </dl>`;
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
const milliseconds = (ms: number | null) => (ms === null ? '–' : `${formatRate(ms)} ms`);
const errorCodes = (errors: Record<string, number>) => {
  const codes = Object.entries(errors);
  return codes.length === 0
    ? 'none'
    : codes.map(([code, count]) => html`<div>${breakable(code)} ${formatNumber(count)}</div>`);
};
/** A code that may be broken after each word. */
const breakable = (code: string) =>
  code.split('_').map((word, index) => (index === 0 ? word : html`_<wbr />${word}`));

const figure = (name: string, value: string, detail: unknown) =>
  html`<div class="panel">
    <dt>${name}</dt>
    <dd><strong>${value}</strong> <span class="quiet">${detail}</span></dd>
  </div>`;

function redisFacts({ redis }: LiveState) {
  if (!redis.available) {
    return html`<p><span class="tag bad">unavailable</span> since ${formatTime(redis.since)}</p>`;
  }
  return redis.servers.map((server) =>
    factList([
      ['Server', told(server.address)],
      ['Version', told(server.version)],
      ['Role', told(server.role)],
      ['Up for', told(server.uptimeSeconds, formatDuration)],
      ['Latency', told(server.latencyMs, (ms) => `${ms} ms`)],
      [
        'Memory',
        told(
          server.memory,
          ({ usedBytes, limitBytes }) => `${formatMegabytes(usedBytes)} of ${formatMegabytes(limitBytes)}`,
        ),
      ],
      ['Append-only file', told(server.appendOnly, (on) => (on ? 'on' : 'off'))],
      ['Evicted keys', told(server.evictedKeys, formatNumber)],
      ['Replicas', told(server.connectedReplicas, formatNumber)],
      ['Clients', told(server.connectedClients, formatNumber)],
    ]),
  );
}

/** @param value null if Redis does not tell */
const told = <T>(value: T | null, format: (value: T) => string = String) =>
  value === null ? html`<span class="quiet">not told</span>` : format(value);
