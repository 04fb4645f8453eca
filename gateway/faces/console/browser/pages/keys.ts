import { keyFields, searchedWords } from '../../../../limits/record-fields.ts';
import { dayMs } from '../../../../limits/utc-day.ts';
import { keyColumns } from '../../../browser/elements/key-columns.ts';
import { menuColumn } from '../../../browser/elements/menu.ts';
import { count, type Column } from '../../../browser/elements/table.ts';
import { capitalized } from '../../../browser/format.ts';
import { keyActions } from '../elements/key-actions.ts';
import { ListPage, type Filter } from '../elements/list-page.ts';
import { keyLink, keyTitle, planLink } from '../key.ts';
import type { KeyRow } from '../responses.ts';
import { session } from '../session.ts';

/** All API keys, and a search that takes anything. */
class PageKeys extends ListPage<KeyRow> {
  override readonly noun = 'key';
  override readonly placeholder = `${capitalized(searchedWords(keyFields))}, id, hint, or a whole API key`;
  override readonly empty = 'An operator makes a customer with its first key.';
  override readonly filters: readonly Filter[] = [
    [
      'State',
      'state',
      'Any state',
      { valid: 'Active', banned: 'Banned', expired: 'Expired', revoked: 'Revoked' },
    ],
    ['Expiry', 'expires', 'Any expiry', { 7: 'Within 7 days', 30: 'Within 30 days', 90: 'Within 90 days' }],
  ];

  override apiQuery(query: URLSearchParams) {
    const wanted = super.apiQuery(query);
    const days = Number(wanted.get('expires') ?? 0);
    wanted.delete('expires');
    if (days > 0) {
      wanted.set('expiresBefore', new Date(Date.now() + days * dayMs).toISOString());
      // Those that have expired already are another question.
      if (!wanted.has('state')) wanted.set('state', 'valid');
    }
    return wanted;
  }

  columns(): readonly (Column<KeyRow> | false)[] {
    return [
      ['Name', keyLink, '', keyTitle],
      ...keyColumns,
      count('Served today', ({ servedToday }) => servedToday),
      ['Plan', ({ plan }) => planLink(plan), 'minor', ({ plan }) => plan],
      session.isOperator && menuColumn<KeyRow>(keyTitle, (key) => keyActions(this, key)),
    ];
  }
}

customElements.define('page-keys', PageKeys);
