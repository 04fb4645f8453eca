import { html } from 'lit';
import { customerFields, keyFields, searchedWords } from '../../../../limits/record-fields.ts';
import { keyColumns } from '../../../browser/elements/key-columns.ts';
import { stateTag } from '../../../browser/elements/state-tag.ts';
import { count } from '../../../browser/elements/table.ts';
import { capitalized, relativeOr } from '../../../browser/format.ts';
import { askToIssue } from '../elements/customer-dialogs.ts';
import type { Columns } from '../elements/list-page.ts';
import { offer, offersColumn } from '../elements/operation-dialog.ts';
import { SearchPage, type Filter } from '../elements/search-page.ts';
import { keyLink, ownLimitsNote, planLink } from '../key.ts';
import type { CustomerView, KeyRow } from '../responses.ts';

/** All customers. */
class PageCustomers extends SearchPage<CustomerView> {
  override readonly noun = 'customer';
  override readonly placeholder = `${capitalized(searchedWords(customerFields))}, id, or an API key`;

  override readonly ask = () => askToIssue(this);

  override columns(): Columns<CustomerView> {
    return [
      ['Name', keyLink],
      ['State', ({ state }) => stateTag(state)],
      ['Plan', (customer) => html`${planLink(customer.plan)} ${ownLimitsNote(customer)}`],
      count('Keys', ({ keys }) => keys, 'number minor'),
      ['Reference', ({ reference }) => reference, 'minor'],
      ['Created', ({ createdAt }) => relativeOr(createdAt, '–'), 'minor'],
      offersColumn<CustomerView>(this, 'customer'),
    ];
  }
}

customElements.define('page-customers', PageCustomers);

/** All API keys, and a search that takes anything. */
class PageKeys extends SearchPage<KeyRow> {
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
      ['Name', keyLink],
      ...keyColumns,
      count('Served today', ({ servedToday }) => servedToday),
      ['Plan', ({ plan }) => planLink(plan), 'minor'],
      offersColumn<KeyRow>(this, 'key'),
    ];
  }
}

customElements.define('page-keys', PageKeys);
