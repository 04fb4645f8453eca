import '../elements/policy-settings.ts';
import { html } from 'lit';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { formatNumber } from '../../../browser/format.ts';
import { api } from '../api.ts';
import { factList } from '../elements/fact-list.ts';
import { gatewayTable, milliseconds, redisFacts, upstreamTable } from '../elements/fleet-tables.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { retentionGroup } from '../policy-groups.ts';
import type { LiveState } from '../responses.ts';

/** What the system is made of, and how long it keeps the record of use. */
class PageSettings extends PolledElement<LiveState> {
  override get pauseMs() {
    return 2000;
  }

  read() {
    return api.get<LiveState>('/api/live');
  }

  override render() {
    return html`<h1>System</h1>
      ${viewerNote()} ${super.render()}
      <h2>Record of use</h2>
      <policy-settings .group=${retentionGroup}></policy-settings>`;
  }

  view(state: LiveState) {
    const { errors, redisP99Ms, upstreamP99Ms } = state.recent;
    return html`<h2>Gateways and workers</h2>
      ${gatewayTable(state)}
      <h2>Services</h2>
      ${upstreamTable(state)}
      <h2>The last minute</h2>
      ${factList([
        ['p99 of Redis', milliseconds(redisP99Ms)],
        ['p99 of the slowest service', milliseconds(upstreamP99Ms)],
        ...Object.entries(errors).map(([code, count]) => [code, formatNumber(count)] as const),
      ])}
      <h2>Redis</h2>
      ${redisFacts(state)}`;
  }
}

customElements.define('page-settings', PageSettings);
