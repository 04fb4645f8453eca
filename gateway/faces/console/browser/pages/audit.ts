import { html, nothing } from 'lit';
import type { AuditAction } from '../../../../platform/redis/audit-actions.ts';
import { ApiFailure } from '../../../browser/api-failure.ts';
import { choice, field } from '../../../browser/elements/fields.ts';
import { emptyState } from '../../../browser/elements/page-state.ts';
import { formTexts } from '../../../browser/form-text.ts';
import { isoTime, localTime } from '../../../browser/local-time.ts';
import { entryTable } from '../elements/entry-table.ts';
import { GrowingList } from '../elements/growing-list.ts';
import { pastedKey } from '../pasted-key.ts';
import type { AuditEntry, Page } from '../responses.ts';
import { router } from '../router.ts';

type ActionGroup = AuditAction extends `${infer Group}.${string}` ? Group : never;

/** What actions concern: the beginning of their names. */
const groups: Record<ActionGroup, string> = {
  customers: 'Customers',
  keys: 'Keys',
  plans: 'Plans',
  bans: 'Bans',
  policy: 'Ban policy',
  usage: 'Usage',
  webhooks: 'Webhooks',
  portal: 'Portal',
  console: 'Console sessions',
  'api-tokens': 'API tokens',
  tokens: 'Internal tokens',
};

/** Parameters of the address that choose entries. */
const parameters = ['action', 'who', 'target', 'since', 'until'];

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
        this.requestUpdate();
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

  submit(event: SubmitEvent) {
    const text = formTexts(event);
    void this.act(async () => {
      for (const name of ['who', 'target']) {
        if (pastedKey(text(name)) === undefined) continue;
        const input = this.querySelector<HTMLInputElement>(`[name="${name}"]`);
        if (input !== null) input.value = '';
        const message = 'That is an API key itself. Find its id under Keys.';
        throw new ApiFailure({ code: 'invalid_request', message, status: 0 });
      }
      const [since, until] = [isoTime(text('since')), isoTime(text('until'))];
      const filter = { action: text('action'), who: text('who'), target: text('target'), since, until };
      router.setQuery(filter, { replace: false });
    });
  }

  override render() {
    const { query } = router.location;
    const value = (name: string) => query.get(name) ?? '';
    const time = (label: string, name: string) =>
      field(label, name, { type: 'datetime-local', value: localTime(value(name)) });
    return html`<h1>Audit log</h1>
      <form class="filter" role="search" @submit=${this.submit}>
        ${choice('What', 'action', [['', 'Everything'], ...Object.entries(groups)], { value: value('action') })}
        ${field('Who', 'who', { value: value('who') })}
        ${field('Id of a customer or key, or plan', 'target', { value: value('target') })}
        ${time('From', 'since')} ${time('To', 'until')}
        <div class="actions">
          <button class="primary">Filter</button>
          ${filterText() === '' ? nothing : html`<a href="/console/audit">Show everything</a>`}
        </div>
      </form>
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
  for (const name of parameters) {
    const value = query.get(name);
    if (value !== null && value !== '') filter.set(name, value);
  }
  return filter.toString();
}

customElements.define('page-audit', PageAudit);
