import { html } from 'lit';
import { choice, field, formTexts } from '../../../browser/elements/fields.ts';
import type { Action } from '../../../browser/elements/menu.ts';
import { plural } from '../../../browser/format.ts';
import { openKey, pastedKey } from '../key.ts';
import { fetchPlans } from '../limit-fields.ts';
import type { KeyPlan, Page } from '../responses.ts';
import { router } from '../router.ts';
import { ListPage } from './list-page.ts';

/** A search may read all records, so it is made once. */
const [listMs, searchMs] = [15_000, 86_400_000];

/** A filter beside the search: its label, the parameter of address and API, and the texts of its values. */
export type Filter = readonly [label: string, name: string, none: string, options: Record<string, string>];

/**
 * A page with a list of records, newest first, that are searched. An API key that is pasted never gets into the address: it is
 * taken out of the field, and leads to its page.
 */
export abstract class SearchPage<Row extends object> extends ListPage<Row, { total: number }> {
  plans: KeyPlan[] = [];

  /** Name of a record. */
  abstract readonly noun: string;
  abstract readonly placeholder: string;
  /** Asks for what a new one needs. */
  abstract ask(): unknown;
  /** Besides that by plan. */
  readonly filters: readonly Filter[] = [];

  constructor() {
    super();
    void fetchPlans().then(
      (plans) => (this.plans = plans),
      () => {},
    );
  }

  override get pauseMs() {
    return router.location.query.size > 0 ? searchMs : listMs;
  }

  override actions(): Action[] {
    return [{ text: `New ${this.noun}…`, tone: 'primary', act: () => this.ask() }];
  }

  get none() {
    return router.location.query.size > 0
      ? html`No ${this.noun} matches: <a href=${this.path}>clear the search and all filters</a>`
      : `There are no ${this.noun}s yet. An operator makes a customer with its first key.`;
  }

  override get parameters() {
    return ['search', 'plan', ...this.filters.map(([, name]) => name)];
  }

  submit(event: SubmitEvent) {
    const text = formTexts(event);
    const search = text('search');
    const key = pastedKey(search);
    if (key === undefined) {
      const names = this.filters.map(([, name]) => name);
      router.setQuery(Object.fromEntries(['search', 'plan', ...names].map((name) => [name, text(name)])));
      return;
    }
    const field = this.querySelector('input');
    if (field !== null) field.value = '';
    void openKey(this, key);
  }

  override about() {
    const { query } = router.location;
    const plans = Object.fromEntries(this.plans.map(({ name }) => [name, name]));
    const filters: Filter[] = [['Plan', 'plan', 'Any plan', plans], ...this.filters];
    return html`<form
      role="search"
      class="filter grid"
      @submit=${this.submit}
      @change=${({ currentTarget }: Event) => currentTarget instanceof HTMLFormElement && currentTarget.requestSubmit()}
    >
      ${field('Search', 'search', {
        type: 'search',
        maxlength: 5000,
        placeholder: this.placeholder,
        value: query.get('search') ?? '',
      })}
      ${filters.map(([label, name, none, options]) =>
        choice(label, name, [['', none], ...Object.entries(options)], { value: query.get(name) ?? '' }),
      )}
    </form>`;
  }

  override view(content: Page<Row> & { total: number }) {
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
