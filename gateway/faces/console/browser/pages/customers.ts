import { html, nothing } from 'lit';
import { customerFields, keyFields, searchedWords } from '../../../../limits/record-fields.ts';
import { amountOf } from '../../../browser/elements/customer-use.ts';
import { keyColumns } from '../../../browser/elements/key-columns.ts';
import { sinceFirst, sparkline } from '../../../browser/elements/sparkline.ts';
import { stateTag } from '../../../browser/elements/state-tag.ts';
import { count } from '../../../browser/elements/table.ts';
import { capitalized, formatDay, plural, relativeOr } from '../../../browser/format.ts';
import { askToIssue } from '../elements/customer-dialogs.ts';
import type { Columns } from '../elements/list-page.ts';
import { offer, offersColumn } from '../elements/operation-dialog.ts';
import { SearchPage, type Filter } from '../elements/search-page.ts';
import { keyLink, keyTitle, ownLimitsNote, planLink } from '../key.ts';
import type { CustomerRow, KeyRow } from '../responses.ts';

/** All customers, with what they use. */
class PageCustomers extends SearchPage<CustomerRow> {
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

customElements.define('page-customers', PageCustomers);

/** The state of a customer, and how many of its keys are banned. */
function stateCell({ state, use }: CustomerRow) {
  const banned = use?.bannedKeys ?? 0;
  return html`${stateTag(state)}
  ${banned === 0 ? nothing : html`<span class="tag bad">${plural(banned, 'key')} banned</span>`}`;
}

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
      ['Name', keyLink, '', keyTitle],
      ...keyColumns,
      count('Served today', ({ servedToday }) => servedToday),
      ['Plan', ({ plan }) => planLink(plan), 'minor', ({ plan }) => plan],
      offersColumn<KeyRow>(this, 'key'),
    ];
  }
}

customElements.define('page-keys', PageKeys);
