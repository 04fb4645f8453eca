import { html } from 'lit';
import { customerFields, searchedWords } from '../../../../limits/record-fields.ts';
import { menuColumn } from '../../../browser/elements/menu.ts';
import { sparkline } from '../../../browser/elements/sparkline.ts';
import { stateTag } from '../../../browser/elements/state-tag.ts';
import { amountOf } from '../../../browser/elements/window-meter.ts';
import { capitalized, formatDay, relativeOr } from '../../../browser/format.ts';
import { customerActions } from '../elements/customer-actions.ts';
import { ListPage, type Filter } from '../elements/list-page.ts';
import { askToAddKey } from '../elements/new-key-dialogs.ts';
import { keyLink, keyTitle, ownLimitsNote, planLink } from '../key.ts';
import type { CustomerRow } from '../responses.ts';
import { session } from '../session.ts';

/** All customers, with what they use. */
class PageCustomers extends ListPage<CustomerRow> {
  override readonly noun = 'customer';
  override readonly placeholder = `${capitalized(searchedWords(customerFields))}, id, or an API key`;
  override readonly empty = 'An operator makes one with its first key.';
  override readonly filters: readonly Filter[] = [
    ['Limits', 'ownLimits', 'Any limits', { true: 'Own limits' }],
  ];

  override apiQuery(query: URLSearchParams) {
    const wanted = super.apiQuery(query);
    wanted.set('use', 'true');
    return wanted;
  }

  columns() {
    return [
      ['Name', keyLink, '', keyTitle],
      ['State', ({ state }) => stateTag(state), '', ({ state }) => state],
      [
        'Plan',
        (customer) => html`${planLink(customer.plan)} ${ownLimitsNote(customer)}`,
        '',
        ({ plan }) => plan,
      ],
      ['Used today', todayCell, '', ({ use }) => use?.windows.day?.used],
      [
        'Last 30 days',
        ({ use }) => sparkline(use?.days ?? []),
        '',
        ({ use }) => use?.days.reduce((sum, units) => sum + units, 0),
      ],
      [
        'Last use',
        ({ use }) => (use?.lastUsedOn ? formatDay(use.lastUsedOn) : '–'),
        'minor',
        ({ use }) => use?.lastUsedOn,
      ],
      ['Keys', ({ keys }) => keys, 'minor'],
      ['Reference', ({ reference }) => reference, 'minor'],
      ['Created', ({ createdAt }) => relativeOr(createdAt, '–'), 'minor', ({ createdAt }) => createdAt],
      session.isOperator &&
        menuColumn<CustomerRow>(keyTitle, (customer) => [
          { text: 'Add key…', act: () => askToAddKey(this, customer, () => this.reload()) },
          ...customerActions(this, customer),
        ]),
    ] as const satisfies ReturnType<ListPage<CustomerRow>['columns']>;
  }
}

/** Units of the day, of its limit. */
function todayCell({ use }: CustomerRow) {
  const day = use?.windows.day;
  return day === undefined ? '–' : amountOf(day);
}

customElements.define('page-customers', PageCustomers);
