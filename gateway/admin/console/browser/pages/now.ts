import '../elements/traffic-charts.ts';
import { html } from 'lit';
import { LightElement } from '../../../../browser/elements/light-element.ts';
import { loading } from '../../../../browser/elements/page-state.ts';
import {
  formatDuration,
  formatMegabytes,
  formatNumber,
  formatRate,
  formatTime,
} from '../../../../browser/format.ts';
import { factList } from '../elements/fact-list.ts';
import { busiestTable, gatewayTable, upstreamTable } from '../elements/fleet-tables.ts';
import { problemList } from '../elements/problem-list.ts';
import { live } from '../live.ts';
import type { LiveState } from '../responses.ts';

/** What happens now: what is wrong, figures of this second, charts, and the state of everything. */
class PageNow extends LightElement {
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

/** Figures on top of the page. */
function liveFigures({ traffic, activeBans, recent }: LiveState) {
  const { requests, byStatus, refusals, bannedRequests = 0, byPlan, latencyMs } = traffic?.perSecond ?? {};
  const withoutKey = byPlan?.['anonymous'];
  const refusedWithoutKey =
    (withoutKey?.unauthenticated ?? 0) + sum(Object.values(withoutKey?.refusals ?? {}));
  const byClass = Object.entries(byStatus ?? {})
    .filter(([, rate]) => rate > 0)
    .map(([status, rate]) => `${status.replace('_', ' ')} ${formatRate(rate)}`);
  const { p50, p99 } = latencyMs?.served ?? {};
  return html`<dl class="figures-now">
    ${figure('Requests a second', rate(requests), requests === undefined ? 'reading…' : byClass.join(' · ') || 'no requests')}
    ${figure('Refusals a second', rate(refusals && sum(Object.values(refusals))), `${formatRate(bannedRequests)} more during bans, ${formatRate(refusedWithoutKey)} without a valid key`)}
    ${figure('p50', p50 === undefined ? '–' : `${formatRate(p50)} ms`, 'of served requests')}
    ${figure('p99', p99 === undefined ? '–' : `${formatRate(p99)} ms`, 'of served requests')}
    ${figure('Errors in the last minute', formatNumber(sum(Object.values(recent.errors))), errorCodes(recent.errors))}
    ${figure('Redis, 99 %', milliseconds(recent.redisP99Ms), 'of the last minute')}
    ${figure('Upstream, 99 %', milliseconds(recent.upstreamP99Ms), 'of the last minute')}
    ${figure('Active bans', formatNumber(activeBans), html`<a href="/console/bans">Bans</a>`)}
  </dl>`;
}

const rate = (perSecond: number | undefined) => (perSecond === undefined ? '–' : formatRate(perSecond));
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
  if (redis.servers.length === 0) return html`<p class="quiet">Reading…</p>`;
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
