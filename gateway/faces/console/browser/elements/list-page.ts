import { html } from 'lit';
import { choice } from '../../../browser/elements/fields.ts';
import { emptyState } from '../../../browser/elements/page-state.ts';
import { listTable, type Column } from '../../../browser/elements/table.ts';
import { withField } from '../../../browser/form-text.ts';
import { plural } from '../../../browser/format.ts';
import { url } from '../../../browser/url.ts';
import { findKey, pastedKey } from '../pasted-key.ts';
import { fetchPlans, planOptions } from '../plan-names.ts';
import type { KeyPlan, Page } from '../responses.ts';
import { router } from '../router.ts';
import { GrowingList } from './growing-list.ts';
import { askToIssue } from './new-key-dialogs.ts';
import { pageHead } from './viewer-note.ts';

/** Time without a key press after which the text is searched for. */
const typingMs = 300;
/** A search may read all records, so it is made once. */
const [listMs, searchMs] = [15_000, 86_400_000];

const titles = { customer: 'Customers', key: 'Keys' };

/** How many records there are in all. */
interface Counted {
  total: number;
}

/** A filter beside the search: its label, the parameter of address and API, and the texts of its values. */
export type Filter = readonly [label: string, name: string, none: string, options: Record<string, string>];

/**
 * A page of the console with a list of records, newest first. What is searched for is in the address. An API key that is pasted
 * never gets there: it is taken out of the field at once, and leads to its page.
 */
export abstract class ListPage<Row extends object> extends GrowingList<Row, Counted> {
  plans: KeyPlan[] = [];
  #typing: ReturnType<typeof setTimeout> | undefined;

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
    this.whileConnected(() => {
      const unsubscribe = router.subscribe(() => {
        if (router.location.path === this.path) this.follow();
      });
      return () => {
        unsubscribe();
        clearTimeout(this.#typing);
      };
    });
  }

  get path() {
    return url`/console/${this.noun}s`;
  }

  override get pauseMs() {
    return router.location.query.size > 0 ? searchMs : listMs;
  }

  get field() {
    return this.querySelector<HTMLInputElement>('input[type="search"]');
  }

  /** After back or a shared link, the field shows what is searched for. Not while it is typed in. */
  follow() {
    if (this.field !== null && document.activeElement !== this.field) {
      this.field.value = router.location.query.get('search') ?? '';
    }
    this.pages = 1;
    void this.reload();
  }

  /** @returns the query of the API for that of the address */
  apiQuery(query: URLSearchParams): URLSearchParams {
    const names = new Set(['search', 'plan', ...this.filters.map(([, name]) => name)]);
    return new URLSearchParams([...query].filter(([name, value]) => names.has(name) && value !== ''));
  }

  read() {
    return this.readPages(`${url`/api/${this.noun}s`}?${this.apiQuery(router.location.query)}`);
  }

  input(text: string) {
    clearTimeout(this.#typing);
    this.failure = undefined;
    const key = pastedKey(text);
    if (key === undefined) {
      this.#typing = setTimeout(() => this.search(text), typingMs);
    } else {
      if (this.field !== null) this.field.value = '';
      void this.act(async () => router.navigate(await findKey(key)));
    }
  }

  submit(event: SubmitEvent) {
    event.preventDefault();
    clearTimeout(this.#typing);
    this.search(this.field?.value ?? '');
  }

  search(text: string) {
    router.setQuery({ search: text.trim() });
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
            onChange: (value) => router.setQuery({ [name]: value }, { replace: false }),
          }),
        )}
      </form>
      ${super.render()}`;
  }

  view({ items, next, total }: Page<Row> & Counted) {
    const all = plural(total, this.noun);
    const isFiltered = router.location.query.size > 0;
    const none = isFiltered
      ? emptyState(
          `No ${this.noun} matches`,
          html`Give less of the name, or <a href=${this.path}>clear the search and all filters</a>.`,
        )
      : emptyState(`There are no ${this.noun}s yet`, this.empty);
    const count = isFiltered
      ? `${plural(items.length, 'match', 'matches')} of ${all}`
      : `${all}, newest first`;
    // Sorting those that are shown would look like sorting all.
    const sorted = next === null ? '' : `; the columns sort the ${items.length} that are shown`;
    return html`<p class="quiet" role="status">${count}${sorted}</p>
      ${items.length === 0 ? none : listTable(titles[this.noun], items, this.columns())}
      ${this.moreButton(next)}`;
  }
}
