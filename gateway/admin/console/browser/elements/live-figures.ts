import { html } from 'lit';
import { formatNumber, formatRate } from '../format.ts';
import type { LiveState } from '../responses.ts';

/** Figures on top of the page. */
export function liveFigures({ traffic, activeBans, recent }: LiveState) {
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
const errorCodes = (errors: Record<string, number>) =>
  Object.entries(errors)
    .map(([code, count]) => `${code} ${formatNumber(count)}`)
    .join(' · ') || 'none';

const figure = (name: string, value: string, detail: unknown) =>
  html`<div class="panel">
    <dt>${name}</dt>
    <dd><strong>${value}</strong> <span class="quiet">${detail}</span></dd>
  </div>`;
