import '../elements/issue-dialog.ts';
import { html, nothing } from 'lit';
import { windowNames } from '../../../../limits/windows.ts';
import { api } from '../api.ts';
import { showDialog } from '../elements/dialog-element.ts';
import { LightElement } from '../elements/light-element.ts';
import { emptyState, loadFailure, loading } from '../elements/page-state.ts';
import { pagingLinks } from '../elements/paging-links.ts';
import { numeric, table } from '../elements/table.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { formatNumber, formatRelative, plural } from '../format.ts';
import { keyPath, keyTitle, stateTag } from '../key.ts';
import type { CustomerList, CustomerRow } from '../responses.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';

const pageSize = 50;
/** Time without a key press after which a search begins. */
const typingMs = 250;

/** All customers, newest first. */
class PageCustomers extends LightElement {
  static override properties = { found: { state: true }, failure: { state: true } };

  found: CustomerList | undefined;
  failure: unknown;
  typing: ReturnType<typeof setTimeout> | undefined;
  request = new AbortController();

  constructor() {
    super();
    this.whileConnected(() => {
      void this.load();
      return router.subscribe(({ path }) => {
        if (path === '/console/customers') void this.load();
      });
    });
    this.whileConnected(() => () => {
      clearTimeout(this.typing);
      this.request.abort();
    });
  }

  /** Reads one page. The API reads a part of many customers at a time, so this goes on until the page is full. */
  async load() {
    this.request.abort();
    const { signal } = (this.request = new AbortController());
    const wanted = new URLSearchParams({ limit: String(pageSize) });
    for (const name of ['search', 'plan', 'after']) {
      const value = router.location.query.get(name);
      if (value !== null) wanted.set(name, value);
    }
    this.failure = undefined;
    try {
      for (let items: CustomerRow[] = []; ;) {
        const part = await api.get<CustomerList>(`/api/customers?${wanted}`, signal);
        items = [...items, ...part.items];
        this.found = { ...part, items };
        if (part.next === null || items.length >= pageSize) return;
        wanted.set('after', part.next);
        wanted.set('limit', String(pageSize - items.length));
      }
    } catch (error) {
      if (!signal.aborted) this.failure = error;
    }
  }

  search({ target }: Event) {
    if (!(target instanceof HTMLInputElement)) return;
    clearTimeout(this.typing);
    this.typing = setTimeout(
      () => router.setQuery({ search: target.value.trim(), after: undefined }),
      typingMs,
    );
  }

  override render() {
    return html`
      <div class="page-head">
        <h1>Customers</h1>
        ${
          session.isOperator
            ? html`<button type="button" class="wa-brand" @click=${() => showDialog(this, 'issue-dialog')}>
                New customer with a key
              </button>`
            : viewerNote()
        }
      </div>
      <form role="search" class="search-box" @submit=${(event: Event) => event.preventDefault()}>
        <label class="search-text"
          >Search
          <input
            type="search"
            autocomplete="off"
            maxlength="200"
            placeholder="Name, contact, reference or id"
            value=${router.location.query.get('search') ?? ''}
            @input=${this.search}
          />
        </label>
      </form>
      <p class="quiet">An API key, its hint or its hash is found under <a href="/console/keys">Keys</a>.</p>
      ${this.failure === undefined ? this.renderFound() : loadFailure(this.failure, () => void this.load())}
      <issue-dialog
        @issued=${({ detail }: CustomEvent<{ id: string }>) => router.navigate(keyPath(detail.id))}
      ></issue-dialog>
    `;
  }

  renderFound() {
    const { found } = this;
    if (found === undefined) return loading();
    const { items, next, total } = found;
    const { query } = router.location;
    const isFiltered = query.has('search') || query.has('plan');
    const all = `${plural(total, 'customer')}, newest first`;
    const more = next === null ? '' : ' or more';
    const matching = `${formatNumber(items.length)}${more} of ${plural(total, 'customer')} match`;
    return html`
      <p class="quiet" role="status">${isFiltered ? matching : all}</p>
      ${items.length === 0 ? renderEmpty(total) : renderTable(items)} ${pagingLinks(next)}
    `;
  }
}

function renderTable(items: CustomerRow[]) {
  return table({
    label: 'Customers',
    region: 'wide',
    headings: ['Name', 'State', 'Plan', numeric('Keys'), 'Reference', 'Contact', 'Created'],
    rows: items.map((customer) => {
      const { id, plan, state, keys, reference, contact, createdAt } = customer;
      const ownLimits = windowNames.some((name) => (customer[name] ?? null) !== null);
      return html`<tr>
        <th scope="row"><a href=${keyPath(id)}>${keyTitle(customer)}</a></th>
        <td>${stateTag(state)}</td>
        <td>
          <a href=${url`/console/plans/${plan}`}>${plan}</a>
          ${ownLimits ? html`<span class="quiet">own limits</span>` : nothing}
        </td>
        <td class="number">${formatNumber(keys)}</td>
        <td>${reference ?? '–'}</td>
        <td>${contact ?? '–'}</td>
        <td>${createdAt === '' ? '–' : formatRelative(createdAt)}</td>
      </tr>`;
    }),
  });
}

function renderEmpty(total: number) {
  if (total > 0) {
    return emptyState(
      'No customer matches',
      html`Give less of the name, or <a href="/console/customers">clear the search</a>.`,
    );
  }
  return emptyState(
    'There are no customers yet',
    session.isOperator ? 'Make one with its first key.' : 'An operator can make one.',
  );
}

customElements.define('page-customers', PageCustomers);
