import { html } from 'lit';
import { choice } from '../../../browser/elements/fields.ts';
import { withField } from '../../../browser/form-text.ts';
import { plural } from '../../../browser/format.ts';
import { findKey, pastedKey } from '../pasted-key.ts';
import { fetchPlans } from '../plan-names.ts';
import type { KeyPlan, Page } from '../responses.ts';
import { router } from '../router.ts';
import { askToIssue } from './customer-dialogs.ts';
import { ListPage } from './list-page.ts';

/** Time without a key press after which the text is searched for. */
const typingMs = 300;
/** A search may read all records, so it is made once. */
const [listMs, searchMs] = [15_000, 86_400_000];

/** How many records there are in all. */
interface Counted {
  total: number;
}

/** A filter beside the search: its label, the parameter of address and API, and the texts of its values. */
export type Filter = readonly [label: string, name: string, none: string, options: Record<string, string>];

/**
 * A page with a list of records, newest first, that are searched. An API key that is pasted never gets into the address: it is
 * taken out of the field at once, and leads to its page.
 */
export abstract class SearchPage<Row extends object> extends ListPage<Row, Counted> {
  plans: KeyPlan[] = [];
  #typing: ReturnType<typeof setTimeout> | undefined;

  /** Name of a record. */
  abstract readonly noun: string;
  abstract readonly placeholder: string;
  abstract readonly filters: readonly Filter[];

  constructor() {
    super();
    void fetchPlans().then(
      (plans) => (this.plans = plans),
      () => {},
    );
    this.whileConnected((signal) => signal.addEventListener('abort', () => clearTimeout(this.#typing)));
  }

  override get pauseMs() {
    return router.location.query.size > 0 ? searchMs : listMs;
  }

  get field() {
    return this.querySelector<HTMLInputElement>('input[type="search"]');
  }

  override get makes() {
    return ['New customer with a key', () => askToIssue(this)] as const;
  }

  get none() {
    return router.location.query.size > 0
      ? ([
          `No ${this.noun} matches`,
          html`Give less of the name, or <a href=${this.path}>clear the search and all filters</a>.`,
        ] as const)
      : ([`There are no ${this.noun}s yet`, 'An operator makes a customer with its first key.'] as const);
  }

  /** After back or a shared link, the field shows what is searched for. Not while it is typed in. */
  override follow() {
    if (this.field !== null && document.activeElement !== this.field) {
      this.field.value = router.location.query.get('search') ?? '';
    }
    super.follow();
  }

  override get query() {
    const names = new Set(['search', 'plan', ...this.filters.map(([, name]) => name)]);
    return new URLSearchParams(
      [...router.location.query].filter(([name, value]) => names.has(name) && value !== ''),
    );
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

  override about() {
    const { query } = router.location;
    const plans = Object.fromEntries(this.plans.map(({ name }) => [name, name]));
    const filters: Filter[] = [['Plan', 'plan', 'Any plan', plans], ...this.filters];
    return html`<form role="search" class="filter" @submit=${this.submit}>
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
      ${filters.map(([label, name, none, options]) =>
        choice(label, undefined, [['', none], ...Object.entries(options)], {
          value: query.get(name) ?? '',
          onChange: (value) => router.setQuery({ [name]: value }, { replace: false }),
        }),
      )}
    </form>`;
  }

  override view(content: Page<Row> & Counted) {
    const { items, next, total } = content;
    const all = plural(total, this.noun);
    const count =
      router.location.query.size > 0
        ? `${plural(items.length, 'match', 'matches')} of ${all}`
        : `${all}, newest first`;
    // Sorting those that are shown would look like sorting all.
    const sorted = next === null ? '' : `; the columns sort the ${items.length} that are shown`;
    return html`<p class="quiet" role="status">${count}${sorted}</p>
      ${super.view(content)}`;
  }
}
