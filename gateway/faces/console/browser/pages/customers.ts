import { html, nothing } from 'lit';
import { customerFields, keyFields, searchedWords } from '../../../../limits/record-fields.ts';
import { amountOf } from '../../../browser/elements/customer-use.ts';
import { choice, field, formTexts } from '../../../browser/elements/fields.ts';
import { keyColumns } from '../../../browser/elements/key-columns.ts';
import type { Action } from '../../../browser/elements/menu.ts';
import { sinceFirst, sparkline } from '../../../browser/elements/sparkline.ts';
import { stateTag } from '../../../browser/elements/state-tag.ts';
import { count } from '../../../browser/elements/table.ts';
import { capitalized, formatDay, plural, relativeOr } from '../../../browser/format.ts';
import { askToIssue, fetchPlans } from '../elements/limit-dialogs.ts';
import { ListPage, type Columns } from '../elements/list-page.ts';
import { offer, offersColumn } from '../elements/operation-dialog.ts';
import { keyLink, keyTitle, openKey, ownLimitsNote, pastedKey, planLink } from '../key.ts';
import type { CustomerRow, KeyPlan, KeyRow, Page } from '../responses.ts';
import { router } from '../router.ts';

/** A search may read all records, so it is made once. */
const [listMs, searchMs] = [15_000, 86_400_000];

/** A filter beside the search: its label, the parameter of address and API, and the texts of its values. */
type Filter = readonly [label: string, name: string, none: string, options: Record<string, string>];

/**
 * A page with a list of records, newest first, that are searched. An API key that is pasted never gets into the address: it is
 * taken out of the field, and leads to its page.
 */
abstract class SearchPage<Row extends object> extends ListPage<Row, { total: number }> {
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

/** All customers, with what they use. */
export class PageCustomers extends SearchPage<CustomerRow> {
  override readonly noun = 'customer';
  override readonly placeholder = `${capitalized(searchedWords(customerFields))}, id, or an API key`;

  override readonly ask = () => askToIssue(this);

  override get query() {
    const query = super.query;
    query.set('use', 'true');
    return query;
  }

  override columns(): Columns<CustomerRow> {
    return [
      ['Name', keyLink, '', keyTitle],
      ['State', stateCell, '', ({ state }) => state],
      [
        'Plan',
        (customer) => html`${planLink(customer.plan)} ${ownLimitsNote(customer)}`,
        '',
        ({ plan }) => plan,
      ],
      [
        'Used today',
        ({ use }) => (use?.windows.day ? amountOf(use.windows.day) : '–'),
        'number',
        ({ use }) => use?.windows.day?.used,
      ],
      [
        'Last 30 days',
        ({ use }) => use && sparkline(sinceFirst(use.days, use.days)),
        '',
        ({ use }) => use?.days.reduce((sum, units) => sum + units, 0),
      ],
      [
        'Last used',
        ({ use }) => (use?.lastUsedOn ? formatDay(use.lastUsedOn) : '–'),
        'minor',
        ({ use }) => use?.lastUsedOn,
      ],
      count('Keys', ({ keys }) => keys, 'number minor'),
      ['Reference', ({ reference }) => reference, 'minor'],
      ['Created', ({ createdAt }) => relativeOr(createdAt, '–'), 'minor', ({ createdAt }) => createdAt],
      offersColumn<CustomerRow>(this, 'customer'),
    ];
  }
}

/** The state of a customer, and how many of its keys are banned. */
function stateCell({ state, use }: CustomerRow) {
  const banned = use?.bannedKeys ?? 0;
  return html`${stateTag(state)}
  ${banned === 0 ? nothing : html`<span class="tag bad">${plural(banned, 'key')} banned</span>`}`;
}

/** All API keys, and a search that takes anything. */
export class PageKeys extends SearchPage<KeyRow> {
  override readonly noun = 'key';
  override readonly placeholder = `${capitalized(searchedWords(keyFields))}, id, hint, or a whole API key`;
  override readonly filters: readonly Filter[] = [
    [
      'State',
      'state',
      'Any state',
      { active: 'Active', banned: 'Banned', expired: 'Expired', revoked: 'Revoked' },
    ],
  ];

  override readonly ask = () => offer(this, 'issueFurtherKey').act();

  override columns(): Columns<KeyRow> {
    return [
      ['Name', keyLink, '', keyTitle],
      ...keyColumns,
      count('Served today', ({ servedToday }) => servedToday),
      ['Plan', ({ plan }) => planLink(plan), 'minor', ({ plan }) => plan],
      offersColumn<KeyRow>(this, 'key'),
    ];
  }
}
