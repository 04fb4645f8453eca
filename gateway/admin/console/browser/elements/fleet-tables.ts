import { html, nothing } from 'lit';
import { count, listTable, numeric, table } from '../../../../browser/elements/table.ts';
import {
  formatDuration,
  formatMegabytes,
  formatNumber,
  formatRelative,
  formatShare,
  formatTime,
} from '../../../../browser/format.ts';
import { keyLink } from '../key.ts';
import type { LiveState } from '../responses.ts';

type Gateway = LiveState['gateways'][number];

const states: Record<string, [tone: string, text: string]> = {
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

function stateTag(state: string) {
  const [tone, text] = states[state] ?? ['', state];
  return html`<span class="tag ${tone}">${text}</span>`;
}

export function gatewayTable({ gateways, at }: LiveState) {
  const nowMs = Date.parse(at);
  return table({
    label: 'Gateways and workers',
    className: 'gateways',
    headings: [
      'Gateway',
      'State',
      'Version',
      'Started',
      numeric('Connections'),
      numeric('Busy'),
      numeric('Memory'),
      'Without Redis',
    ],
    rows: html`${gateways.map((gateway) => gatewayRows(gateway, nowMs))}`,
  });
}

function gatewayRows(gateway: Gateway, nowMs: number) {
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
      (process) =>
        html`<tr class="worker">
          <th scope="row">Worker ${process.worker} <span class="quiet">pid ${process.pid}</span></th>
          ${processCells(process.state, process, process.version, nowMs)}
        </tr>`,
    )}`;
}

function processCells(state: string, process: Gateway['processes'][number], version: string, nowMs: number) {
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

function localModeText(localMode: { from: string; to: string | null } | null) {
  if (localMode === null) return html`<span class="quiet">never</span>`;
  const { from, to } = localMode;
  if (to === null) return html`<span class="tag bad">since ${formatTime(from, { dateStyle: 'time' })}</span>`;
  return html`${formatDuration((Date.parse(to) - Date.parse(from)) / 1000)} until ${formatTime(to)}`;
}

export const upstreamTable = ({ upstreams }: LiveState) =>
  listTable(
    'Upstreams',
    upstreams,
    [
      ['Upstream', ({ upstream }) => upstream],
      ['Service', ({ service }) => service],
      ['State', ({ state }) => stateTag(state)],
      [
        'As gateway processes see it',
        ({ seenAs }) =>
          Object.entries(seenAs)
            .map(([seen, count]) => `${count} ${states[seen]?.[1] ?? seen}`)
            .join(', '),
      ],
    ],
    { region: '' },
  );

export function busiestTable({ busiestCustomers }: LiveState) {
  if (busiestCustomers === null) {
    return html`<p class="quiet">
      They are being read. If they do not come, the Redis user of the gateway may not run ZUNION.
    </p>`;
  }
  if (busiestCustomers.length === 0) {
    return html`<p class="quiet">No customer had requests in the last minute.</p>`;
  }
  return listTable('Busiest customers', busiestCustomers, [
    ['Customer', keyLink],
    ['Plan', ({ plan }) => plan],
    count('Requests in the last minute', ({ requests }) => requests),
    count('Refused', ({ refused, requests }) =>
      refused === 0 ? null : `${formatNumber(refused)} (${formatShare(refused / requests)})`,
    ),
    ['State', ({ state }) => html`<span class="tag ${state === 'active' ? 'good' : 'bad'}">${state}</span>`],
  ]);
}
