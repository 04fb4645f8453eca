import { html, nothing } from 'lit';
import { api } from '../api.js';
import { formatDuration, formatNumber, formatTime } from '../format.js';
import { LightElement } from './light-element.js';
import { loadFailure } from './page-state.js';

/** @typedef {{ date: string, plan: string | null, served: number, refused: number, bannedSeconds: number }} Day */
/** @typedef {{ from: string, to: string, refused: number, reason: 'minute' | 'day' | 'ban' }} Refusals */
/** @typedef {{ id: string, at: string, who: string, action: string, changes: { field: string, before: unknown, after: unknown }[] }} Entry */

const reasons = { minute: 'minute limit', day: 'day limit', ban: 'banned' };
const auditEntries = 10;

/** What a key has done: its last 30 days, its last refusals, and the changes that operators have made. */
export class KeyHistory extends LightElement {
  static properties = {
    item: {},
    days: { state: true },
    refusals: { state: true },
    entries: { state: true },
    failure: { state: true },
  };

  constructor() {
    super();
    /** Id of the key. */
    this.item = '';
    /** @type {Day[] | undefined} */
    this.days = undefined;
    /** @type {Refusals[] | undefined} */
    this.refusals = undefined;
    /** @type {Entry[] | undefined} */
    this.entries = undefined;
    /** @type {unknown} */
    this.failure = undefined;
  }

  connectedCallback() {
    super.connectedCallback();
    void this.load();
  }

  async load() {
    const key = encodeURIComponent(this.item);
    try {
      const [usage, refusals, audit] = await Promise.all([
        api.get(`/api/keys/${key}/usage?days=30`),
        api.get(`/api/keys/${key}/refusals`),
        api.get(`/api/audit?target=${key}&limit=${auditEntries}`),
      ]);
      this.days = usage.items;
      this.refusals = refusals.items;
      this.entries = audit.items;
      this.failure = undefined;
    } catch (error) {
      this.failure = error;
    }
  }

  render() {
    if (this.failure !== undefined) return loadFailure(this.failure, () => void this.load());
    const { days, refusals, entries } = this;
    if (days === undefined || refusals === undefined || entries === undefined) return nothing;
    return html`
      <h2>Last 30 days</h2>
      ${renderDays(days)}
      <h2>Last refusals</h2>
      ${renderRefusals(refusals)}
      <h2>Changes</h2>
      ${renderEntries(entries)}
      <p><a href="/console/audit?target=${encodeURIComponent(this.item)}">All changes of this key</a></p>
    `;
  }
}

/** @param {Day[]} days oldest first */
function renderDays(days) {
  const used = days.filter(({ served, refused, bannedSeconds }) => served + refused + bannedSeconds > 0);
  if (used.length === 0) return html`<p class="quiet">The key was not used in the last 30 days.</p>`;
  const most = Math.max(...used.map(({ served, refused }) => served + refused), 1);
  return html`<div class="table-scroll" role="region" aria-label="Use by day" tabindex="0">
    <table>
      <thead>
        <tr>
          <th scope="col">Day (UTC)</th>
          <th scope="col">Plan</th>
          <th scope="col" class="number">Served</th>
          <th scope="col" class="number">Refused</th>
          <th scope="col">Banned for</th>
          <th scope="col">Served and refused</th>
        </tr>
      </thead>
      <tbody>
        ${used.toReversed().map(
          ({ date, plan, served, refused, bannedSeconds }) =>
            html`<tr>
              <th scope="row">${date}</th>
              <td>${plan ?? '–'}</td>
              <td class="number">${formatNumber(served)}</td>
              <td class="number">${formatNumber(refused)}</td>
              <td>${bannedSeconds === 0 ? '–' : formatDuration(bannedSeconds)}</td>
              <td>
                <progress
                  class="use-bar"
                  max=${most}
                  .value=${served + refused}
                  aria-hidden="true"
                ></progress>
              </td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** @param {Refusals[]} refusals */
function renderRefusals(refusals) {
  if (refusals.length === 0) return html`<p class="quiet">None in the last seven days.</p>`;
  return html`<div class="table-scroll" role="region" aria-label="Last refusals" tabindex="0">
    <table>
      <thead>
        <tr>
          <th scope="col">From</th>
          <th scope="col">To</th>
          <th scope="col" class="number">Refused</th>
          <th scope="col">Reason</th>
        </tr>
      </thead>
      <tbody>
        ${refusals.map(
          ({ from, to, refused, reason }) =>
            html`<tr>
              <td>${formatTime(from)}</td>
              <td>${formatTime(to)}</td>
              <td class="number">${formatNumber(refused)}</td>
              <td>${reasons[reason]}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** @param {Entry[]} entries newest first */
function renderEntries(entries) {
  if (entries.length === 0) return html`<p class="quiet">None that the audit log still has.</p>`;
  return html`<div class="table-scroll" role="region" aria-label="Changes" tabindex="0">
    <table>
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Who</th>
          <th scope="col">Action</th>
          <th scope="col">Change</th>
        </tr>
      </thead>
      <tbody>
        ${entries.map(
          ({ at, who, action, changes }) =>
            html`<tr>
              <td>${formatTime(at)}</td>
              <td>${who}</td>
              <td><code>${action}</code></td>
              <td>${changes.map(describeChange).join(', ')}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** @param {Entry['changes'][0]} change */
function describeChange({ field, before, after }) {
  return before === null
    ? `${field}: ${describeValue(after)}`
    : `${field}: ${describeValue(before)} → ${describeValue(after)}`;
}

/** @param {unknown} value */
function describeValue(value) {
  if (value === null || value === undefined) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

customElements.define('key-history', KeyHistory);
