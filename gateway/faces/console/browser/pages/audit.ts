import { html, nothing } from 'lit';
import { choice, field, formTexts } from '../../../browser/elements/fields.ts';
import { capitalized, isoTime, localTime } from '../../../browser/format.ts';
import { auditGroups } from '../../../browser/page-facts.ts';
import { ApiFailure } from '../../../browser/request.ts';
import { entryTable } from '../elements/entry-table.ts';
import { ListPage } from '../elements/list-page.ts';
import { pastedKey } from '../key.ts';
import type { AuditEntry } from '../responses.ts';
import { router } from '../router.ts';

/** Of groups whose name says too little. */
const groupLabels: Readonly<Record<string, string>> = {
  'api-tokens': 'API tokens',
  console: 'Console sessions',
  policy: 'Ban policy',
  tokens: 'Internal tokens',
};

const actionChoices = [
  ['', 'Everything'] as const,
  ...auditGroups.map((group) => [group, groupLabels[group] ?? capitalized(group)] as const),
];

/** The audit log, newest first. New entries appear by themselves, but not while one reads further below. */
export class PageAudit extends ListPage<AuditEntry> {
  /** Filter and number of pages of what is shown. */
  #shown = '';

  override get parameters() {
    return ['action', 'who', 'target', 'since', 'until'];
  }

  get none() {
    return this.query.size === 0 ? 'Nothing was changed yet.' : 'No entry matches.';
  }

  override async read() {
    const wanted = `${this.query} ${this.pages}`;
    if (wanted === this.#shown && scrollY > 0) return undefined;
    const found = await super.read();
    if (found !== undefined) this.#shown = wanted;
    return found;
  }

  submit(event: SubmitEvent) {
    const text = formTexts(event);
    void this.act(async () => {
      if (pastedKey(text('who')) !== undefined || pastedKey(text('target')) !== undefined) {
        this.querySelector('form')?.reset();
        const message = 'That is an API key itself. Find its id under Keys.';
        throw new ApiFailure({ code: 'invalid_request', message });
      }
      const [since, until] = [isoTime(text('since')), isoTime(text('until'))];
      const filter = { action: text('action'), who: text('who'), target: text('target'), since, until };
      router.setQuery(filter);
    });
  }

  override about() {
    const { query } = this;
    const value = (name: string) => query.get(name) ?? '';
    const time = (label: string, name: string) =>
      field(label, name, { type: 'datetime-local', value: localTime(value(name)) });
    return html`<form class="filter grid" role="search" @submit=${this.submit}>
      ${choice('What', 'action', actionChoices, { value: value('action') })}
      ${field('Who', 'who', { value: value('who') })}
      ${field('Id of a customer or key, or plan', 'target', { value: value('target') })}
      ${time('From', 'since')} ${time('To', 'until')}
      <div class="actions">
        <button class="primary">Filter</button>
        ${query.size === 0 ? nothing : html`<a href=${this.path}>Show everything</a>`}
      </div>
    </form>`;
  }

  override table(entries: readonly AuditEntry[]) {
    return entryTable('Audit log', entries, this.none);
  }
}
