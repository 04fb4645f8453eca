import '../elements/number-setting.ts';
import { html } from 'lit';
import { retentionField } from '../../../../limits/setting-fields.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { formatNumber } from '../../../browser/format.ts';
import { api } from '../api.ts';
import { factList } from '../elements/fact-list.ts';
import { gatewayTable, milliseconds, redisFacts, upstreamTable } from '../elements/fleet-tables.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import type { LiveState } from '../responses.ts';

const dayMs = 86_400_000;
const days = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

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
      <number-setting
        path="/api/settings/usage"
        field="retentionDays"
        .words=${retentionField}
        .effectOf=${retentionEffect}
      ></number-setting>`;
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

function retentionEffect(retentionDays: number) {
  const first = new Date(Date.now() - retentionDays * dayMs);
  return `The use of each key is kept for ${formatNumber(retentionDays)} days: today from ${days.format(first)} on. What is older is no longer shown.`;
}

customElements.define('page-settings', PageSettings);
