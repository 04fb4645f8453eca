import { html, nothing } from 'lit';
import { ActingElement } from '../../../../browser/elements/acting-element.ts';
import { emptyState, inlineFailure } from '../../../../browser/elements/page-state.ts';
import { formatTime, plural } from '../../../../browser/format.ts';
import { Refresher } from '../../../../browser/refresher.ts';
import { api } from '../api.ts';
import { auditParameters } from '../elements/audit-filter.ts';
import { entryTable } from '../elements/entry-table.ts';
import type { AuditEntry, Page } from '../responses.ts';
import { router } from '../router.ts';

const pollMs = 2000;
/** Entries of an open page; older ones are read again if they are asked for. */
const maxShown = 2000;

/** The audit log, newest first. New entries appear by themselves, or wait behind a button while one reads further below. */
class PageAudit extends ActingElement {
  entries: AuditEntry[] | undefined;
  /** Newer ones, which are not shown yet. */
  waiting: AuditEntry[] = [];
  next: string | null = null;
  /** Id of the newest entry that was looked at. */
  #latest: string | undefined;
  /** Filter of what is shown. */
  #filter = '';
  refresher = new Refresher(
    this,
    () => this.follow(),
    () => pollMs,
  );

  constructor() {
    super();
    this.whileConnected(() =>
      router.subscribe(() => {
        if (filterText() !== this.#filter) void this.begin();
      }),
    );
    this.whileConnected(() => {
      const onScroll = () => {
        if (isAtTop()) this.showWaiting();
      };
      addEventListener('scroll', onScroll, { passive: true });
      return () => removeEventListener('scroll', onScroll);
    });
  }

  /** Reads the first page of the filter in the address. */
  async begin() {
    this.#filter = filterText();
    this.entries = undefined;
    this.waiting = [];
    this.#latest = undefined;
    await this.refresher.now();
  }

  /** Reads the first page, or what is newer than what is known. */
  async follow() {
    const filter = filterText();
    this.#filter = filter;
    if (this.#latest === undefined) {
      const { items, next, latest } = await read(filter, '');
      if (filter !== this.#filter) return;
      this.entries = items;
      this.next = next;
      this.#latest = latest;
    } else {
      const { items, latest } = await read(filter, `newerThan=${this.#latest}`);
      if (filter !== this.#filter) return;
      this.#latest = latest;
      this.waiting = [...items, ...this.waiting].slice(0, maxShown);
      if (isAtTop()) this.showWaiting();
    }
  }

  showWaiting() {
    if (this.waiting.length === 0) return;
    const entries = [...this.waiting, ...(this.entries ?? [])];
    this.entries = entries.slice(0, maxShown);
    if (entries.length > maxShown) this.next = this.entries.at(-1)?.id ?? null;
    this.waiting = [];
  }

  toTop() {
    this.showWaiting();
    scrollTo({ top: 0 });
  }

  async more() {
    const filter = this.#filter;
    await this.act(async () => {
      const { items, next } = await read(filter, `after=${this.next}`);
      if (filter !== this.#filter) return;
      this.entries = [...(this.entries ?? []), ...items];
      this.next = next;
    });
  }

  override render() {
    return html`<h1>Audit</h1>
      <audit-filter></audit-filter>
      ${
        this.waiting.length === 0
          ? nothing
          : html`<p class="sticky-note">
              <button type="button" class="wa-brand" @click=${this.toTop}>
                ${plural(this.waiting.length, 'new entry', 'new entries')}
              </button>
            </p>`
      }
      ${this.list()}`;
  }

  list() {
    const { entries } = this;
    if (entries === undefined) return this.refresher.placeholder();
    return html`${inlineFailure(this.refresher.failure ?? this.failure)}
    ${entries.length === 0 ? this.none() : entryTable('Audit log', entries)} ${this.moreView()}`;
  }

  none() {
    if (this.next !== null) return nothing;
    return this.#filter === ''
      ? emptyState(
          'Nothing was changed yet',
          'Each change of a key, a plan or a setting will be listed here.',
        )
      : emptyState('No entry matches', html`<a href="/console/audit">Show everything</a>`);
  }

  moreView() {
    if (this.next === null) return nothing;
    const until = new Date(Number(this.next.split('-')[0]));
    return html`<div class="actions">
      <button type="button" ?disabled=${this.busy} @click=${this.more}>
        ${this.busy ? 'Reading…' : 'Show older ones'}
      </button>
      <span class="quiet">Searched back to ${formatTime(until.toISOString())}</span>
    </div>`;
  }
}

/** @param rest further parameters */
const read = (filter: string, rest: string) =>
  api.get<Page<AuditEntry> & { latest: string }>(
    `/api/audit?${[filter, rest].filter((part) => part !== '').join('&')}`,
  );

/** The filter in the address, as the API understands it. */
function filterText() {
  const { query } = router.location;
  const filter = new URLSearchParams();
  for (const name of auditParameters) {
    const value = query.get(name);
    if (value !== null && value !== '') filter.set(name, value);
  }
  return filter.toString();
}

const isAtTop = () => scrollY < 40;

customElements.define('page-audit', PageAudit);
