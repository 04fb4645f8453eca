import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formatTime } from '../format.ts';
import { fetchPlanNames } from '../key-search.ts';
import { apiPath, keyTitle } from '../key.ts';
import { limitsText } from '../plan-text.ts';
import { Refresher } from '../refresher.ts';
import type { Changed, CustomerDetail, KeyDetail } from '../responses.ts';
import { ActingElement } from './acting-element.ts';
import { KeyHistory } from './key-history.ts';
import { notify } from './notice.ts';
import { failureText } from './page-state.ts';

/** While the page is visible, its subject is read again this long after the last time. */
const refreshMs = 2000;
const failedMs = 5000;

/** The page of one key or customer, which is read again and again, and changed. */
export class DetailPage<Detail extends KeyDetail | CustomerDetail> extends ActingElement {
  static override properties = { item: {}, detail: { state: true }, plans: { state: true } };

  /** Id of the key or customer. */
  item = '';
  detail: Detail | undefined;
  plans: string[] = [];
  /** Changes made on this page. */
  changes = 0;
  refresher = new Refresher(
    this,
    () => this.read(),
    () => (this.refresher.failure === undefined ? refreshMs : failedMs),
  );

  constructor() {
    super();
    void fetchPlanNames().then((plans) => (this.plans = plans));
  }

  get path() {
    return apiPath(this.item);
  }

  /** Reads the subject. What a change has overtaken is dropped. */
  async read() {
    const { changes } = this;
    const detail = await api.get<Detail>(this.path);
    if (changes !== this.changes) return;
    this.detail = detail;
    document.title = document.title.replace(/^.*? – /, `${keyTitle(detail)} – `);
  }

  /** @param detail after a change */
  changed(detail: Detail) {
    this.changes += 1;
    this.detail = detail;
    this.failure = undefined;
    const history = this.querySelector('key-history');
    if (history instanceof KeyHistory) void history.load();
  }

  onChanged({ detail }: CustomEvent<Detail>) {
    this.changed(detail);
  }

  /** Makes a change from a dialog, which shows why it failed. */
  async apply(change: () => Promise<Changed<Detail>>, done: string) {
    const detail = await change();
    this.changed(detail);
    notify(done, detail.warnings);
  }

  /** Makes a change, and shows on the page why it failed. */
  async make(change: () => Promise<Changed<Detail>>, done: string) {
    await this.act(() => this.apply(change, done));
  }

  resetDay() {
    const title = this.detail === undefined ? '' : ` of ${keyTitle(this.detail)}`;
    return this.make(() => api.delete(`${this.path}/day`), `The day${title} counts from 0 again`);
  }

  endTemporary() {
    return this.make(
      () => api.patch(this.path, { rev: this.detail?.rev, temporary: null }),
      'The temporary limits have ended',
    );
  }

  /** @param day use of the day, if it is known */
  renderResetDay(day: { used: number } | undefined) {
    return html`<button
      type="button"
      ?disabled=${(day?.used ?? 0) === 0}
      title="Its day limit counts from 0 again; the record of use keeps what was served"
      @click=${this.resetDay}
    >
      Set the day back
    </button>`;
  }

  renderTemporary({ temporary }: Detail) {
    if (temporary === null) return nothing;
    return html`<p>
      Until ${formatTime(temporary.until)}: ${limitsText(temporary)}.
      <button type="button" @click=${this.endTemporary}>End them now</button>
    </p>`;
  }

  renderStale() {
    const { failure } = this.refresher;
    return failure === undefined
      ? nothing
      : html`<p class="failure-text" role="alert">Not up to date: ${failureText(failure)}</p>`;
  }
}

export const factList = (facts: readonly [name: string, value: unknown][]) =>
  html`<dl class="key-facts">
    ${facts.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
