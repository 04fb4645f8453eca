import { html, nothing } from 'lit';
import { choice } from '../../../browser/elements/fields.ts';
import { emptyState } from '../../../browser/elements/page-state.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { listTable, type Column } from '../../../browser/elements/table.ts';
import { withField } from '../../../browser/form-text.ts';
import { formatNumber, plural } from '../../../browser/format.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { findKey, pastedKey } from '../pasted-key.ts';
import { fetchPlans, planOptions } from '../plan-names.ts';
import type { KeyPlan, Page } from '../responses.ts';
import { router } from '../router.ts';
import { askToIssue } from './new-key-dialogs.ts';
import { pageHead } from './viewer-note.ts';

const pageSize = 50;
/** Time without a key press after which the text is searched for. */
const typingMs = 300;
/** A search may read all records, so it is made once. */
const [listMs, searchMs] = [15_000, 86_400_000];

const titles = { customer: 'Customers', key: 'Keys' };

/** A page of a list, how many records there are in all, and how many of them were read for it, if the API says so. */
type Found<Row> = Page<Row> & { total: number; read?: number; isComplete: boolean };

/** A filter beside the search: its label, the parameter of address and API, and the texts of its values. */
export type Filter = readonly [label: string, name: string, none: string, options: Record<string, string>];

/**
 * A page of the console with a list of records, newest first. What is searched for, and from where on, is in the address. An
 * API key that is pasted never gets there: it is taken out of the field at once, and leads to what it belongs to.
 */
export abstract class ListPage<Row extends object> extends PolledElement<Found<Row>> {
  plans: KeyPlan[] = [];
  #request = new AbortController();
  #typing: ReturnType<typeof setTimeout> | undefined;
  /** Query of what is shown. */
  #shown: string | undefined;

  /** Name of a record; with an s, that of the list in addresses. */
  abstract readonly noun: 'customer' | 'key';
  abstract readonly placeholder: string;
  abstract readonly filters: readonly Filter[];
  /** What there is if there are no records at all. */
  abstract readonly empty: string;
  abstract columns(): readonly (Column<Row> | false)[];

  constructor() {
    super();
    void fetchPlans().then(
      (plans) => (this.plans = plans),
      () => {},
    );
    this.whileConnected(() =>
      router.subscribe(() => {
        if (router.location.path === this.path) this.follow();
      }),
    );
    this.whileConnected(() => () => {
      this.#request.abort();
      clearTimeout(this.#typing);
    });
  }

  get path() {
    return url`/console/${this.noun}s`;
  }

  override get pauseMs() {
    return isFiltered() ? searchMs : listMs;
  }

  get field() {
    return this.querySelector<HTMLInputElement>('input[type="search"]');
  }

  /** After back or a shared link, the field shows what is searched for. Not while it is typed in. */
  follow() {
    this.#request.abort();
    if (this.field !== null && document.activeElement !== this.field) {
      this.field.value = router.location.query.get('search') ?? '';
    }
    this.requestUpdate();
    void this.reload();
  }

  /** @returns the query of the API for that of the address */
  apiQuery(query: URLSearchParams): URLSearchParams {
    const names = new Set(['search', 'plan', 'after', ...this.filters.map(([, name]) => name)]);
    return new URLSearchParams([...query].filter(([name, value]) => names.has(name) && value !== ''));
  }

  /** Reads one page. The API reads a part of many records at a time, so this goes on until the page is full. */
  async read() {
    const { signal } = (this.#request = new AbortController());
    const wanted = this.apiQuery(router.location.query);
    const query = `${router.location.query}`;
    const items: Row[] = [];
    let read = 0;
    for (;;) {
      wanted.set('limit', String(pageSize - items.length));
      const part = await api
        .get<Page<Row> & { total: number; read?: number }>(`${url`/api/${this.noun}s`}?${wanted}`, signal)
        .catch((error: unknown) => {
          if (!signal.aborted) throw error;
        });
      // Something else is asked for.
      if (part === undefined) return undefined;
      items.push(...part.items);
      read += part.read ?? 0;
      const isComplete = part.next === null || items.length >= pageSize;
      const found = { ...part, items: [...items], read, isComplete };
      if (isComplete) {
        this.#shown = query;
        return found;
      }
      if (query !== this.#shown) this.content = found;
      wanted.set('after', part.next ?? '');
    }
  }

  input(text: string) {
    clearTimeout(this.#typing);
    this.failure = undefined;
    const key = pastedKey(text);
    if (key !== undefined) this.find(key);
    else this.#typing = setTimeout(() => this.search(text), typingMs);
  }

  submit(event: SubmitEvent) {
    event.preventDefault();
    clearTimeout(this.#typing);
    this.search(this.field?.value ?? '');
  }

  search(text: string) {
    router.setQuery({ search: text.trim(), after: undefined });
  }

  /** @param text with an API key */
  find(text: string) {
    if (this.field !== null) this.field.value = '';
    void this.act(async () => router.navigate(await findKey(text, this.noun)));
  }

  override render() {
    const { query } = router.location;
    const plans: Filter = ['Plan', 'plan', 'Any plan', Object.fromEntries(planOptions(this.plans))];
    return html`${pageHead(titles[this.noun], 'New customer with a key', () => askToIssue(this))}
      <form role="search" class="filter" @submit=${this.submit}>
        <label class="search-text"
          >Search
          <input
            type="search"
            autocomplete="off"
            spellcheck="false"
            maxlength="5000"
            placeholder=${this.placeholder}
            value=${query.get('search') ?? ''}
            @input=${withField((text) => this.input(text))}
          />
        </label>
        ${[plans, ...this.filters].map(([label, name, none, options]) =>
          choice(label, undefined, [['', none], ...Object.entries(options)], {
            value: query.get(name) ?? '',
            onChange: (value) => router.setQuery({ [name]: value, after: undefined }, { replace: false }),
          }),
        )}
      </form>
      ${this.busy ? html`<p class="quiet" role="status">Looking up the pasted key…</p>` : nothing}
      ${super.render()}`;
  }

  view(found: Found<Row>) {
    const { items, next, isComplete } = found;
    return html`<p class="quiet" role="status">${this.describe(found)}</p>
      ${
        items.length > 0
          ? listTable(titles[this.noun], items, this.columns())
          : isComplete && this.none(found.total)
      }
      ${isComplete ? pagingLinks(next) : nothing}`;
  }

  none(total: number) {
    return total === 0
      ? emptyState(`There are no ${this.noun}s yet`, this.empty)
      : emptyState(
          `No ${this.noun} matches`,
          html`Give less of the name, or <a href=${this.path}>clear the search and all filters</a>.`,
        );
  }

  describe({ items, next, read, total, isComplete }: Found<Row>) {
    const all = plural(total, this.noun);
    if (!isComplete && read) return `Searching: ${formatNumber(read)} of ${all} read…`;
    if (!isFiltered()) return `${all}, newest first`;
    return `${formatNumber(items.length)}${next === null ? '' : ' or more'} of ${all} match`;
  }
}

const isFiltered = () => Array.from(router.location.query.keys()).some((name) => name !== 'after');

/** Links to the first and the next page of a list. @param next that of the API */
function pagingLinks(next: string | null) {
  const { path, query } = router.location;
  const isFirst = !query.has('after');
  if (isFirst && next === null) return nothing;
  const address = (after: string | null) => {
    const changed = new URLSearchParams(query);
    if (after === null) changed.delete('after');
    else changed.set('after', after);
    return changed.size === 0 ? path : `${path}?${changed}`;
  };
  return html`<nav class="actions" aria-label="Pages">
    ${isFirst ? nothing : html`<a href=${address(null)}>First page</a>`}
    ${next === null ? nothing : html`<a href=${address(next)}>Next page</a>`}
  </nav>`;
}
