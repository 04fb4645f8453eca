import { html } from 'lit';
import { checkbox } from '../../../browser/elements/fields.ts';
import { emptyState } from '../../../browser/elements/page-state.ts';
import { count, listTable } from '../../../browser/elements/table.ts';
import { relativeOr } from '../../../browser/format.ts';
import { api } from '../api.ts';
import { ListPage } from '../elements/list-page.ts';
import { askToIssue } from '../elements/new-key-dialogs.ts';
import { SearchBox } from '../elements/search-box.ts';
import { pageHead } from '../elements/viewer-note.ts';
import { apiPath, keyLink, keyPath, ownLimitsNote, planLink, stateTag } from '../key.ts';
import type { CustomerRow, KeyDetail } from '../responses.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';

/** Search for customers. A pasted key leads to its customer, or to its own page if its record is invalid. */
class CustomerSearchBox extends SearchBox {
  override readonly placeholder = 'Name, contact, reference, id, or an API key';

  async pathOf(id: string) {
    const { customerId } = await api.get<KeyDetail>(apiPath(id));
    return keyPath(customerId || id);
  }

  override filters() {
    return checkbox('Own limits', undefined, {
      checked: router.location.query.get('own') === 'true',
      onInput: (isTicked) =>
        router.setQuery({ own: isTicked ? 'true' : '', after: undefined }, { replace: false }),
    });
  }
}

customElements.define('customer-search-box', CustomerSearchBox);

/** All customers. */
class PageCustomers extends ListPage<CustomerRow> {
  override readonly noun = 'customer';

  override apiQuery(query: URLSearchParams) {
    const wanted = super.apiQuery(query);
    if (query.get('own') === 'true') wanted.set('ownLimits', 'true');
    return wanted;
  }

  override render() {
    return html`${pageHead('Customers', 'New customer with a key', () => askToIssue(this))}
      <customer-search-box></customer-search-box>
      ${super.render()}`;
  }

  list(items: readonly CustomerRow[]) {
    return listTable('Customers', items, [
      ['Name', keyLink],
      ['State', ({ state }) => stateTag(state)],
      ['Plan', (customer) => html`${planLink(customer.plan)} ${ownLimitsNote(customer)}`],
      count('Keys', ({ keys }) => keys),
      ['Reference', ({ reference }) => reference],
      ['Contact', ({ contact }) => contact],
      ['Created', ({ createdAt }) => relativeOr(createdAt, '–'), 'labelled'],
    ]);
  }

  none(total: number) {
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
}

customElements.define('page-customers', PageCustomers);
