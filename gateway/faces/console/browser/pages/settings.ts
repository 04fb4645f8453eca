import { html, nothing } from 'lit';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { stateTag, stateText } from '../../../browser/elements/state-tag.ts';
import { count, listTable } from '../../../browser/elements/table.ts';
import {
  formatDuration,
  formatMegabytes,
  formatMilliseconds,
  formatNumber,
  formatRelative,
  formatShare,
} from '../../../browser/format.ts';
import { api } from '../api.ts';
import { factList } from '../elements/fact-list.ts';
import type { LiveState } from '../responses.ts';

/** What the system is made of. */
export class PageSettings extends PolledElement<LiveState> {
  read() {
    return api.get<LiveState>('/api/live');
  }

  override render() {
    return html`<h1>System</h1>
      ${super.render()}`;
  }

  view(state: LiveState) {
    const { errors, redisP99Ms, upstreamP99Ms } = state.recent;
    return html`<h2>Gateways and workers</h2>
      ${gatewayTable(state)}
      <h2>Services</h2>
      ${upstreamTable(state)}
      <h2>The last minute</h2>
      ${factList([
        ['p99 of Redis', formatMilliseconds(redisP99Ms)],
        ['p99 of the slowest service', formatMilliseconds(upstreamP99Ms)],
        ...Object.entries(errors).map(([code, count]) => [code, formatNumber(count)] as const),
      ])}
      <h2>Redis</h2>
      ${redisTable(state)}`;
  }
}

/** A row for each process: a gateway of one process, or a worker of one. */
function gatewayTable({ gateways, at }: LiveState) {
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

const upstreamTable = ({ upstreams }: LiveState) =>
  listTable('Upstreams', upstreams, [
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
  ]);

/** A dash is what the server does not tell. */
const redisTable = ({ redis }: LiveState) =>
  listTable('Redis', redis, [
    ['Server', ({ address }) => address],
    ['Version', ({ version }) => version ?? '–', 'minor'],
    ['Role', ({ role }) => role ?? '–'],
    [
      'Memory',
      ({ memory }) =>
        memory === null
          ? '–'
          : `${formatMegabytes(memory.usedBytes)} of ${formatMegabytes(memory.limitBytes)}`,
      'labelled',
    ],
    [
      'Append-only file',
      ({ appendOnly }) => (appendOnly === null ? '–' : appendOnly ? 'on' : 'off'),
      'labelled',
    ],
    count('Evicted keys', ({ evictedKeys }) => evictedKeys),
    count('Replicas', ({ connectedReplicas }) => connectedReplicas),
  ]);
