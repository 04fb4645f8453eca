import { keyFields, searchedWords } from '../../../../limits/record-fields.ts';
import { dayMs } from '../../../../limits/utc-day.ts';
import { keyColumns } from '../../../browser/elements/key-columns.ts';
import { menuColumn } from '../../../browser/elements/menu.ts';
import { count } from '../../../browser/elements/table.ts';
import { capitalized } from '../../../browser/format.ts';
import { keyActions } from '../elements/key-dialogs.ts';
import type { Columns } from '../elements/list-page.ts';
import { SearchPage, type Filter } from '../elements/search-page.ts';
import { keyLink, keyTitle, planLink } from '../key.ts';
import type { KeyRow } from '../responses.ts';
import { session } from '../session.ts';

/** All API keys, and a search that takes anything. */
class PageKeys extends SearchPage<KeyRow> {
  override readonly heading = 'Keys';
  override readonly list = '/api/keys';
  override readonly noun = 'key';
  override readonly placeholder = `${capitalized(searchedWords(keyFields))}, id, hint, or a whole API key`;
  override readonly filters: readonly Filter[] = [
    [
      'State',
      'state',
      'Any state',
      { valid: 'Active', banned: 'Banned', expired: 'Expired', revoked: 'Revoked' },
    ],
    ['Expiry', 'expires', 'Any expiry', { 7: 'Within 7 days', 30: 'Within 30 days', 90: 'Within 90 days' }],
  ];

  override get query() {
    const query = super.query;
    const days = Number(query.get('expires') ?? 0);
    query.delete('expires');
    if (days > 0) {
      query.set('expiresBefore', new Date(Date.now() + days * dayMs).toISOString());
      // Those that have expired already are another question.
      if (!query.has('state')) query.set('state', 'valid');
    }
    return query;
  }

  columns(): Columns<KeyRow> {
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
