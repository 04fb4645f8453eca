import { html, nothing } from 'lit';
import { stateTag, stateText } from '../../../browser/elements/state-tag.ts';
import { count, listTable } from '../../../browser/elements/table.ts';
import {
  formatDuration,
  formatMegabytes,
  formatNumber,
  formatRate,
  formatRelative,
  formatShare,
  formatTime,
} from '../../../browser/format.ts';
import { keyLink } from '../key.ts';
import type { LiveState } from '../responses.ts';
import { factList } from './fact-list.ts';

/** So many are on one screen with the chart. */
const shownCustomers = 7;

/** A row for each process: a gateway of one process, or a worker of one. */
export function gatewayTable({ gateways, at }: LiveState) {
  const nowMs = Date.parse(at);
  const rows = gateways.flatMap((gateway) =>
    gateway.processes.map((process) => {
      const state = gateway.workers === 1 ? gateway.state : process.state;
      return { ...gateway, ...process, state, isSeen: state !== 'not_seen' };
    }),
  );
  return listTable('Gateways and workers', rows, [
    [
      'Gateway',
      ({ host, adminAddress = '', workers, worker, pid }) =>
        html`${host}
          <span class="quiet">${adminAddress} ${workers === 1 ? '' : `worker ${worker}`} pid ${pid}</span>`,
    ],
    [
      'State',
      ({ state, isSeen, seenAt }) =>
        html`${stateTag(state)}
        ${isSeen ? nothing : html`<span class="quiet">for ${formatDuration((nowMs - Date.parse(seenAt)) / 1000)}</span>`}`,
    ],
    ['Version', ({ version }) => version, 'minor'],
    ['Started', ({ startedAt }) => formatRelative(startedAt, nowMs), 'minor'],
    count('Connections', ({ isSeen, connections }) => (isSeen ? connections : null)),
    count('Busy', ({ isSeen, busy }) => (isSeen ? formatShare(busy) : null)),
    count('Memory', ({ isSeen, rssBytes }) => (isSeen ? formatMegabytes(rssBytes) : null)),
  ]);
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
            .map(([seen, count]) => `${count} ${stateText(seen)}`)
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
  return listTable(
    'Busiest customers',
    busiestCustomers.slice(0, shownCustomers),
    [
      [
        'Customer',
        (customer) =>
          html`${keyLink(customer)} ${customer.state === 'active' ? nothing : stateTag(customer.state)}`,
      ],
      count('Last minute', ({ requests }) => requests),
      count('Refused', ({ refused, requests }) => (refused === 0 ? null : formatShare(refused / requests))),
    ],
    { region: '' },
  );
}

export const milliseconds = (ms: number | null) => (ms === null ? '–' : `${formatRate(ms)} ms`);

export function redisFacts({ redis }: LiveState) {
  if (!redis.available) {
    return html`<p>${stateTag('unavailable')} since ${formatTime(redis.since)}</p>`;
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
