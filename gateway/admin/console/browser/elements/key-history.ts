import './time-chart.ts';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formatDuration, formatNumber, formatTime } from '../format.ts';
import { apiPath } from '../key.ts';
import { Refresher } from '../refresher.ts';
import type { AuditEntry, DayUsage, Page, Refusals } from '../responses.ts';
import { url } from '../url.ts';
import { entryMarks } from './chart-marks.ts';
import { entryTable } from './entry-table.ts';
import { LightElement } from './light-element.ts';
import { numeric, table } from './table.ts';

const auditEntries = 10;
const refreshMs = 10_000;

/** What a key has done: its last 30 days, its last refusals, and the changes that operators have made. */
export class KeyHistory extends LightElement {
  static override properties = {
    item: {},
    days: { state: true },
    refusals: { state: true },
    entries: { state: true },
  };

  /** Id of the key, whose customer's days these are, or of the customer. */
  item = '';
  days: DayUsage[] | undefined;
  refusals: Refusals[] | undefined;
  entries: AuditEntry[] | undefined;
  refresher = new Refresher(
    this,
    () => this.read(),
    () => refreshMs,
  );

  /** Reads again, as after a change. */
  async load() {
    await this.refresher.now();
  }

  async read() {
    const key = this.item;
    const [usage, refusals, audit] = await Promise.all([
      api.get<Page<DayUsage>>(`${apiPath(key)}/usage?days=30`),
      api.get<Page<Refusals>>(`${apiPath(key)}/refusals`),
      api.get<Page<AuditEntry>>(url`/api/audit?target=${key}&limit=${auditEntries}`),
    ]);
    this.days = usage.items;
    this.refusals = refusals.items;
    this.entries = audit.items;
  }

  override render() {
    if (this.refresher.failure !== undefined) return this.refresher.placeholder();
    const { days, refusals, entries } = this;
    if (days === undefined || refusals === undefined || entries === undefined) return nothing;
    return html`
      <h2>Last 30 days</h2>
      ${renderDays(days, entries)}
      <h2>Last refusals</h2>
      ${renderRefusals(refusals)}
      <h2>Changes</h2>
      ${renderEntries(entries)}
      <p>
        <a href=${url`/console/audit?target=${this.item}`}
          >All changes of this ${this.item.startsWith('cus_') ? 'customer' : 'key'}</a
        >
      </p>
    `;
  }
}

const daySeconds = 86_400;

/**
 * @param days oldest first
 * @param entries changes, newest first
 */
function renderDays(days: DayUsage[], entries: AuditEntry[]) {
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
      .marks=${entryMarks(entries).map(({ at, text }) => ({ at: at - (at % daySeconds), text }))}
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

function renderRefusals(refusals: Refusals[]) {
  if (refusals.length === 0) return html`<p class="quiet">None in the last seven days.</p>`;
  return table({
    label: 'Last refusals',
    region: 'wide',
    headings: ['From', 'To', numeric('Refused'), 'Reason'],
    rows: refusals.map(
      ({ from, to, refused, reason }) =>
        html`<tr>
          <td>${formatTime(from)}</td>
          <td>${formatTime(to)}</td>
          <td class="number">${formatNumber(refused)}</td>
          <td>${reason === 'ban' ? 'banned' : `${reason} limit`}</td>
        </tr>`,
    ),
  });
}

/** @param entries newest first */
function renderEntries(entries: AuditEntry[]) {
  if (entries.length === 0) return html`<p class="quiet">None that the audit log still has.</p>`;
  return entryTable('Changes', entries, true);
}

customElements.define('key-history', KeyHistory);
