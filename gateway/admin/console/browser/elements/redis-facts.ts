import { html } from 'lit';
import { formatDuration, formatMegabytes, formatNumber, formatTime } from '../format.ts';
import type { LiveState } from '../responses.ts';

export function redisFacts({ redis }: LiveState) {
  if (!redis.available) {
    return html`<p><span class="tag bad">unavailable</span> since ${formatTime(redis.since)}</p>`;
  }
  if (redis.servers.length === 0) return html`<p class="quiet">Reading…</p>`;
  return redis.servers.map(
    (server) =>
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

/** @param value null if Redis does not tell */
const fact = <T>(name: string, value: T | null, format: (value: T) => string = String) =>
  html`<div>
    <dt>${name}</dt>
    <dd>${value === null ? html`<span class="quiet">not told</span>` : format(value)}</dd>
  </div>`;
