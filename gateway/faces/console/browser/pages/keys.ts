import '../elements/key-search-box.ts';
import { html } from 'lit';
import { emptyState } from '../../../browser/elements/page-state.ts';
import { count, listTable } from '../../../browser/elements/table.ts';
import { relativeOr } from '../../../browser/format.ts';
import { ListPage } from '../elements/list-page.ts';
import { askToIssue } from '../elements/new-key-dialogs.ts';
import { pageHead } from '../elements/viewer-note.ts';
import { hintOf, keyLink, planLink, stateTag } from '../key.ts';
import type { KeyRow } from '../responses.ts';
import { session } from '../session.ts';

const dayMs = 86_400_000;

/** All API keys, and a search that takes anything. */
class PageKeys extends ListPage<KeyRow> {
  override readonly noun = 'key';

  override apiQuery(query: URLSearchParams) {
    const wanted = super.apiQuery(query);
    const state = query.get('state');
    if (state !== null) wanted.set('state', state);
    const days = Number(query.get('expires') ?? 0);
    if (days > 0) {
      wanted.set('expiresBefore', new Date(Date.now() + days * dayMs).toISOString());
      // Those that have expired already are another question.
      if (state === null) wanted.set('state', 'valid');
    }
    return wanted;
  }

  override render() {
    return html`${pageHead('Keys', 'Issue a key', () => askToIssue(this))}
      <key-search-box></key-search-box>
      ${super.render()}`;
  }

  list(items: readonly KeyRow[]) {
    return listTable('Keys', items, [
      ['Name', keyLink],
      ['State', ({ state }) => stateTag(state)],
      ['Plan', ({ plan }) => planLink(plan)],
      count('Served today', ({ servedToday }) => servedToday),
      ['Key', hintOf],
      ['Last used', ({ lastUsedAt }) => relativeOr(lastUsedAt, 'never'), 'labelled'],
      ['Created', ({ createdAt }) => relativeOr(createdAt, '–'), 'labelled'],
      ['Expires', ({ expiresAt }) => relativeOr(expiresAt, 'never'), 'labelled'],
    ]);
  }

  none(total: number) {
    if (total > 0) {
      return emptyState(
        'No key matches',
        html`Give less of the name, or <a href="/console/keys">clear the search and all filters</a>.`,
      );
    }
    return emptyState(
      'There are no API keys yet',
      session.isOperator ? 'Issue one for your first customer.' : 'An operator can issue one.',
    );
  }
}

customElements.define('page-keys', PageKeys);
