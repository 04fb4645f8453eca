import './time-chart.ts';
import { html, nothing } from 'lit';
import { PolledElement } from '../../../../browser/elements/polled-element.ts';
import { listTable } from '../../../../browser/elements/table.ts';
import { formatDuration, formatNumber, formatTime } from '../../../../browser/format.ts';
import { url } from '../../../../browser/url.ts';
import { api } from '../api.ts';
import { apiPath, keyLink } from '../key.ts';
import type { AuditEntry, DayUsage, Failure, Page } from '../responses.ts';
import { entryTable } from './entry-table.ts';

const auditEntries = 10;

interface History {
  days: DayUsage[];
  /** Of a customer only. */
  failures: Failure[] | undefined;
  entries: AuditEntry[];
}

/** What a key or customer has done: 30 days, the last failed requests, and the changes that operators have made. */
export class KeyHistory extends PolledElement<History> {
  static override properties = { item: {} };

  /** Id of the key, whose customer's days these are, or of the customer. */
  item = '';

  override get pauseMs() {
    return 10_000;
  }

  async read() {
    const path = apiPath(this.item);
    const [{ items: days }, failures, { items: entries }] = await Promise.all([
      api.get<Page<DayUsage>>(`${path}/usage?days=30`),
      this.isCustomer ? api.get<Page<Failure>>(`${path}/failures`) : undefined,
      api.get<Page<AuditEntry>>(url`/api/audit?target=${this.item}&limit=${auditEntries}`),
    ]);
    return { days, failures: failures?.items, entries };
  }

  override render() {
    if (this.refresher.failure !== undefined) return this.refresher.placeholder();
    return this.content === undefined ? html`` : super.render();
  }

  private get isCustomer() {
    return this.item.startsWith('cus_');
  }

  view({ days, failures, entries }: History) {
    return html`<h2>Last 30 days</h2>
      ${renderDays(days)} ${failures === undefined ? nothing : renderFailures(failures)}
      <h2>Changes</h2>
      ${
        entries.length === 0
          ? html`<p class="quiet">None that the audit log still has.</p>`
          : entryTable('Changes', entries, !this.isCustomer)
      }
      <p>
        <a href=${url`/console/audit?target=${this.item}`}
          >All changes of this ${this.isCustomer ? 'customer' : 'key'}</a
        >
      </p>`;
  }
}

function renderFailures(failures: Failure[]) {
  return html`<h2>Last failed requests</h2>
    ${
      failures.length === 0
        ? html`<p class="quiet">None in the last seven days.</p>`
        : listTable(
            'Last failed requests',
            failures,
            [
              ['Time', ({ at }) => formatTime(at)],
              ['Request', ({ method, route }) => `${method} ${route}`],
              ['Error', ({ status, code }) => `${status} ${code ?? ''}`],
              ['Key', ({ keyId }) => keyLink({ id: keyId, name: keyId })],
              ['Request id', ({ requestId }) => html`<code>${requestId}</code>`],
            ],
            { headed: false },
          )
    }`;
}

/** @param days oldest first */
function renderDays(days: DayUsage[]) {
  const sum = (field: 'served' | 'refused' | 'bannedSeconds') =>
    days.reduce((total, day) => total + day[field], 0);
  const [served, refused, bannedSeconds] = [sum('served'), sum('refused'), sum('bannedSeconds')];
  if (served + refused + bannedSeconds === 0) {
    return html`<p class="quiet">It was not used in the last ${days.length} days.</p>`;
  }
  const units = days.reduce((total, day) => total + (day.units ?? day.served), 0);
  const cost = units === served ? '' : ` at a cost of ${formatNumber(units)}`;
  const banned = bannedSeconds === 0 ? '' : `, and banned for ${formatDuration(bannedSeconds)} in all`;
  const summary = html`<p>
    ${formatNumber(served)} served${cost}, ${formatNumber(refused)} refused${banned}. ${describePlans(days)}
  </p>`;
  if (served + refused === 0) return summary;
  return html`<time-chart
      heading="Requests a day"
      kind="bars"
      unit="utc-day"
      .times=${days.map(({ date }) => Date.parse(date) / 1000)}
      .series=${[
        { label: 'served', tone: 'good', values: days.map((day) => day.served) },
        { label: 'refused', tone: 'caution', values: days.map((day) => day.refused) },
      ]}
    ></time-chart>
    ${summary}`;
}

/** Plans of the days on which the key was used. */
function describePlans(days: DayUsage[]) {
  const used = days.filter(({ plan }) => plan !== null);
  const starts = used.filter(({ plan }, index) => plan !== used[index - 1]?.plan);
  if (starts.length < 2) return starts[0] === undefined ? '' : `On the plan ${starts[0].plan}.`;
  return `Plans: ${starts.map(({ plan, date }) => `${plan} from ${date}`).join(', ')}.`;
}

customElements.define('key-history', KeyHistory);
