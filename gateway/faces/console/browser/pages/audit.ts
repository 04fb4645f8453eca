import { html, nothing } from 'lit';
import { emptyState } from '../../../browser/elements/page-state.ts';
import { auditParameters } from '../elements/audit-filter.ts';
import { entryTable } from '../elements/entry-table.ts';
import { GrowingList } from '../elements/growing-list.ts';
import type { AuditEntry, Page } from '../responses.ts';
import { router } from '../router.ts';

/** Pixels from the top of the page within which new entries appear. */
const topPx = 40;

/** The audit log, newest first. New entries appear by themselves, but not while one reads further below. */
class PageAudit extends GrowingList<AuditEntry> {
  /** Filter and number of pages of what is shown. */
  #shown = '';

  constructor() {
    super();
    this.whileConnected(() =>
      router.subscribe(() => {
        if (this.#shown.startsWith(`${filterText()} `)) return;
        this.pages = 1;
        void this.reload();
      }),
    );
  }

  override get pauseMs() {
    return 2000;
  }

  async read() {
    const filter = filterText();
    const wanted = `${filter} ${this.pages}`;
    if (wanted === this.#shown && scrollY > topPx) return undefined;
    const found = await this.readPages(`/api/audit?${filter}`);
    this.#shown = wanted;
    return found;
  }

  override render() {
    return html`<h1>Audit log</h1>
      <audit-filter></audit-filter>
      ${super.render()}`;
  }

  view({ items, next }: Page<AuditEntry>) {
    if (items.length === 0 && next === null) {
      return filterText() === ''
        ? emptyState(
            'Nothing was changed yet',
            'Each change of a key, a plan or a setting will be listed here.',
          )
        : emptyState('No entry matches', html`<a href="/console/audit">Show everything</a>`);
    }
    return html`${items.length === 0 ? nothing : entryTable('Audit log', items)} ${this.moreButton(next)}`;
  }
}

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

customElements.define('page-audit', PageAudit);
