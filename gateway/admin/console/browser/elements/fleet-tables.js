import { html, nothing } from 'lit';
import {
  formatDuration,
  formatNumber,
  formatRate,
  formatRelative,
  formatShare,
  formatTime,
  plural,
} from '../format.js';

/** @type {Record<string, [tone: string, text: string]>} */
const states = {
  ok: ['good', 'ok'],
  starting: ['caution', 'starting'],
  draining: ['caution', 'draining'],
  incomplete: ['caution', 'workers missing'],
  not_seen: ['bad', 'not seen'],
  ready: ['good', 'ready'],
  unknown: ['', 'unknown yet'],
  not_ready: ['caution', 'not ready'],
  down: ['bad', 'down'],
};

/** @param {string} state */
function stateTag(state) {
  const [tone, text] = states[state] ?? ['', state];
  return html`<span class="tag ${tone}">${text}</span>`;
}

const megabyte = 1024 * 1024;
/** @param {number} bytes */
const formatMegabytes = (bytes) => `${formatNumber(Math.round(bytes / megabyte))} MB`;

/** @param {any} state live state */
export function gatewayTable({ gateways, withoutStatus, at }) {
  const nowMs = Date.parse(at);
  return html`<div class="table-scroll" tabindex="0" role="region" aria-label="Gateways and workers">
    <table class="gateways">
      <thead>
        <tr>
          <th scope="col">Gateway</th>
          <th scope="col">State</th>
          <th scope="col">Version</th>
          <th scope="col">Started</th>
          <th scope="col" class="number">Connections</th>
          <th scope="col" class="number">Busy</th>
          <th scope="col" class="number">Memory</th>
          <th scope="col">Without Redis</th>
        </tr>
      </thead>
      <tbody>
        ${gateways.map((/** @type {any} */ gateway) => gatewayRows(gateway, nowMs))}
        ${
          withoutStatus === 0
            ? nothing
            : html`<tr>
                <th scope="row">${plural(withoutStatus, 'process', 'processes')}</th>
                <td colspan="7">No status (older version)</td>
              </tr>`
        }
      </tbody>
    </table>
  </div>`;
}

/**
 * @param {any} gateway
 * @param {number} nowMs
 */
function gatewayRows(gateway, nowMs) {
  const { host, adminAddress, state, version, startedAt, workers, processes } = gateway;
  const name = html`${host}
  ${adminAddress === undefined ? nothing : html`<span class="quiet">${adminAddress}</span>`}`;
  const [only] = processes;
  if (workers === 1 && only !== undefined) {
    return html`<tr>
      <th scope="row">${name} <span class="quiet">pid ${only.pid}</span></th>
      ${processCells(state, only, version, nowMs)}
    </tr>`;
  }
  return html`<tr>
      <th scope="row">${name}</th>
      <td>${stateTag(state)}</td>
      <td>${version}</td>
      <td>${formatRelative(startedAt, nowMs)}</td>
      <td colspan="4" class="quiet">${workers} workers</td>
    </tr>
    ${processes.map(
      (/** @type {any} */ process) =>
        html`<tr class="worker">
          <th scope="row">Worker ${process.worker} <span class="quiet">pid ${process.pid}</span></th>
          ${processCells(process.state, process, process.version, nowMs)}
        </tr>`,
    )}`;
}

/**
 * @param {string} state
 * @param {any} process
 * @param {string} version
 * @param {number} nowMs
 */
function processCells(state, process, version, nowMs) {
  const { startedAt, seenAt, connections, busy, rssBytes, localMode } = process;
  const isSeen = state !== 'not_seen';
  return html`<td>
      ${stateTag(state)}
      ${isSeen ? nothing : html`<span class="quiet">for ${formatDuration((nowMs - Date.parse(seenAt)) / 1000)}</span>`}
    </td>
    <td>${version}</td>
    <td>${formatRelative(startedAt, nowMs)}</td>
    <td class="number">${isSeen ? formatNumber(connections) : '–'}</td>
    <td class="number">${isSeen ? formatShare(busy) : '–'}</td>
    <td class="number">${isSeen ? formatMegabytes(rssBytes) : '–'}</td>
    <td>${localModeText(localMode)}</td>`;
}

/** @param {{ from: string, to: string | null } | null} localMode */
function localModeText(localMode) {
  if (localMode === null) return html`<span class="quiet">never</span>`;
  const { from, to } = localMode;
  if (to === null) return html`<span class="tag bad">since ${formatTime(from, { dateStyle: 'time' })}</span>`;
  return html`${formatDuration((Date.parse(to) - Date.parse(from)) / 1000)} until ${formatTime(to)}`;
}

/** @param {any} state live state */
export const upstreamTable = ({ upstreams }) =>
  html`<div class="table-scroll" tabindex="0" role="region" aria-label="Upstreams">
    <table>
      <thead>
        <tr>
          <th scope="col">Upstream</th>
          <th scope="col">State</th>
          <th scope="col">As gateway processes see it</th>
        </tr>
      </thead>
      <tbody>
        ${upstreams.map(
          (/** @type {any} */ { upstream, state, seenAs }) =>
            html`<tr>
              <th scope="row">${upstream}</th>
              <td>${stateTag(state)}</td>
              <td>
                ${Object.entries(seenAs)
                  .map(([seen, count]) => `${count} ${states[seen]?.[1] ?? seen}`)
                  .join(', ')}
              </td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;

/** @param {any} state live state */
export function redisTable({ redis }) {
  if (!redis.available) {
    return html`<p><span class="tag bad">unavailable</span> since ${formatTime(redis.since)}</p>`;
  }
  if (redis.servers.length === 0) return html`<p class="quiet">Reading…</p>`;
  return redis.servers.map(
    (/** @type {any} */ server) =>
      html`<dl class="facts">
        ${fact('Server', server.address)} ${fact('Version', server.version)} ${fact('Role', server.role)}
        ${fact('Up for', server.uptimeSeconds, formatDuration)}
        ${fact('Latency', server.latencyMs, (ms) => `${ms} ms`)}
        ${fact('Memory', server.memory, ({ usedBytes, limitBytes }) => `${formatMegabytes(usedBytes)} of ${formatMegabytes(limitBytes)}`)}
        ${fact('Append-only file', server.appendOnly, (on) => (on ? 'on' : 'off'))}
        ${fact('Evicted keys', server.evictedKeys, formatNumber)}
        ${fact('Replicas', server.connectedReplicas, formatNumber)}
        ${fact('Clients', server.connectedClients, formatNumber)}
      </dl>`,
  );
}

/**
 * @param {string} name
 * @param {any} value null if Redis does not tell
 * @param {(value: any) => string} [format]
 */
const fact = (name, value, format = String) =>
  html`<div>
    <dt>${name}</dt>
    <dd>${value === null ? html`<span class="quiet">not told</span>` : format(value)}</dd>
  </div>`;

/** @param {any} state live state */
export function busiestTable({ busiestKeys }) {
  if (busiestKeys === null) {
    return html`<p class="quiet">
      They are being read. If they do not come, the Redis user of the gateway may not run ZUNION.
    </p>`;
  }
  if (busiestKeys.length === 0) {
    return html`<p class="quiet">No API key had requests in the last minute.</p>`;
  }
  return html`<div class="table-scroll" tabindex="0" role="region" aria-label="Busiest keys">
    <table>
      <thead>
        <tr>
          <th scope="col">Customer</th>
          <th scope="col">Plan</th>
          <th scope="col" class="number">Requests in the last minute</th>
          <th scope="col" class="number">Refused</th>
          <th scope="col">State</th>
        </tr>
      </thead>
      <tbody>
        ${busiestKeys.map(
          (/** @type {any} */ { id, name, plan, state, requests, refused }) =>
            html`<tr>
              <th scope="row"><a href="/console/customers/${encodeURIComponent(id)}">${name}</a></th>
              <td>${plan}</td>
              <td class="number">${formatNumber(requests)}</td>
              <td class="number">
                ${refused === 0 ? '–' : `${formatNumber(refused)} (${formatShare(refused / requests)})`}
              </td>
              <td><span class="tag ${state === 'valid' ? 'good' : 'bad'}">${state}</span></td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Figures on top of the page. @param {any} state live state */
export function figures({ traffic, activeBans }) {
  const { requests = 0, byStatus = {}, refusals, bannedRequests = 0, latencyMs } = traffic?.perSecond ?? {};
  const byClass = Object.entries(byStatus)
    .filter(([, rate]) => rate > 0)
    .map(([status, rate]) => `${status.replace('_', ' ')} ${formatRate(rate)}`);
  const { p50, p99 } = latencyMs?.served ?? {};
  return html`<dl class="figures-now">
    ${figure('Requests a second', formatRate(requests), byClass.join(' · ') || 'no requests')}
    ${figure('Refusals a second', formatRate((refusals?.minute ?? 0) + (refusals?.day ?? 0)), `${formatRate(bannedRequests)} more during bans`)}
    ${figure('p50', p50 === undefined ? '–' : `${formatRate(p50)} ms`, 'of served requests')}
    ${figure('p99', p99 === undefined ? '–' : `${formatRate(p99)} ms`, 'of served requests')}
    ${figure('Active bans', formatNumber(activeBans), html`<a href="/console/bans">Bans</a>`)}
  </dl>`;
}

/**
 * @param {string} name
 * @param {string} value
 * @param {unknown} detail
 */
const figure = (name, value, detail) =>
  html`<div class="panel">
    <dt>${name}</dt>
    <dd><strong>${value}</strong> <span class="quiet">${detail}</span></dd>
  </div>`;
