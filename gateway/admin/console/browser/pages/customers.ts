import { html } from 'lit';
import { openDialog } from '../../../../browser/elements/dialog-element.ts';
import { emptyState } from '../../../../browser/elements/page-state.ts';
import { count, listTable } from '../../../../browser/elements/table.ts';
import { withField } from '../../../../browser/form-text.ts';
import { relativeOr } from '../../../../browser/format.ts';
import { IssueDialog } from '../elements/issue-dialog.ts';
import { ListPage } from '../elements/list-page.ts';
import { pageHead } from '../elements/viewer-note.ts';
import { goToKey, keyLink, ownLimitsNote, planLink, stateTag } from '../key.ts';
import type { CustomerRow } from '../responses.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';

/** Time without a key press after which a search begins. */
const typingMs = 250;

/** All customers. */
class PageCustomers extends ListPage<CustomerRow> {
  override readonly noun = 'customer';
  #typing: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.whileConnected(() => () => clearTimeout(this.#typing));
  }

  search(text: string) {
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => router.setQuery({ search: text.trim(), after: undefined }), typingMs);
  }

  override render() {
    return html`${pageHead('Customers', 'New customer with a key', () => openDialog(this, IssueDialog, goToKey))}
      <form role="search" class="search-box" @submit=${(event: Event) => event.preventDefault()}>
        <label class="search-text"
          >Search
          <input
            type="search"
            autocomplete="off"
            maxlength="200"
            placeholder="Name, contact, reference or id"
            value=${router.location.query.get('search') ?? ''}
            @input=${withField((text) => this.search(text))}
          />
        </label>
      </form>
      <p class="quiet">An API key, its hint or its hash is found under <a href="/console/keys">Keys</a>.</p>
      ${super.render()}`;
  }

  list(items: readonly CustomerRow[]) {
    return listTable('Customers', items, [
      ['Name', keyLink],
      ['State', ({ state }) => stateTag(state)],
      ['Plan', (customer) => html`${planLink(customer.plan)} ${ownLimitsNote(customer)}`],
      count('Keys', ({ keys }) => keys),
      ['Reference', ({ reference }) => reference ?? '–'],
      ['Contact', ({ contact }) => contact ?? '–'],
      ['Created', ({ createdAt }) => relativeOr(createdAt, '–')],
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
