import '../elements/key-search-box.ts';
import { html, nothing } from 'lit';
import { ask } from '../../../../browser/elements/confirm-dialog.ts';
import { openDialog } from '../../../../browser/elements/dialog-element.ts';
import { notify } from '../../../../browser/elements/notice.ts';
import { emptyState } from '../../../../browser/elements/page-state.ts';
import { count, listTable, type Column } from '../../../../browser/elements/table.ts';
import { withField } from '../../../../browser/form-text.ts';
import { formatNumber, plural, relativeOr } from '../../../../browser/format.ts';
import { api } from '../api.ts';
import { IssueDialog } from '../elements/issue-dialog.ts';
import { ListPage } from '../elements/list-page.ts';
import { pageHead } from '../elements/viewer-note.ts';
import { goToKey, hintOf, keyLink, keyTitle, ownLimitsNote, planLink, stateTag } from '../key.ts';
import type { Changed, KeyRow } from '../responses.ts';
import { session } from '../session.ts';

const dayMs = 86_400_000;
/** As many as the API revokes at once. */
const maxSelected = 500;

/** All API keys, and a search that takes anything. */
class PageKeys extends ListPage<KeyRow> {
  override readonly noun = 'key';
  /** Keys that are to be revoked together, by id. They stay selected on other pages and with other filters. */
  selected: ReadonlyMap<string, KeyRow> = new Map();

  override apiQuery(query: URLSearchParams) {
    const wanted = super.apiQuery(query);
    const state = query.get('state');
    if (state === 'banned') wanted.set('banned', 'true');
    else if (state !== null) wanted.set('state', state);
    if (query.get('own') === 'true') wanted.set('ownLimits', 'true');
    const days = Number(query.get('expires') ?? 0);
    if (days > 0) {
      wanted.set('expiresBefore', new Date(Date.now() + days * dayMs).toISOString());
      // Those that have expired already are another question.
      if (state === null) wanted.set('state', 'valid');
    }
    return wanted;
  }

  select(keys: readonly KeyRow[], isSelected: boolean) {
    const selected = new Map(this.selected);
    for (const key of keys) {
      if (isSelected) selected.set(key.id, key);
      else selected.delete(key.id);
    }
    this.selected = selected;
  }

  async revoke(ids: readonly string[]) {
    const { revoked, alreadyRevoked, warnings } = await api.post<
      Changed<{ revoked: number; alreadyRevoked: number }>
    >('/api/keys/revoke', { ids });
    this.selected = new Map();
    const before = alreadyRevoked === 0 ? '' : ` ${plural(alreadyRevoked, 'key')} had been revoked before.`;
    notify(`${plural(revoked, 'key')} revoked, from the next request on.${before}`, warnings);
    await this.load();
  }

  /** Names all of them: some may be on another page. */
  askToRevoke() {
    const keys = [...this.selected.values()];
    ask(this, {
      heading: `Revoke ${plural(keys.length, 'key')}?`,
      action: 'Revoke them',
      danger: true,
      typed: String(keys.length),
      message: () =>
        html`<p>Their requests get 401 from the next one on. A revoked key cannot be restored.</p>
          <ul>
            ${keys.map((key) => html`<li>${keyTitle(key)} <span class="quiet">${key.plan}, ${key.id}</span></li>`)}
          </ul>`,
      run: () => this.revoke(keys.map(({ id }) => id)),
    });
  }

  override render() {
    return html`${pageHead('Keys', 'Issue a key', () => openDialog(this, IssueDialog, goToKey))}
      <key-search-box></key-search-box>
      ${this.selection()} ${super.render()}`;
  }

  selection() {
    const { size } = this.selected;
    if (size === 0) return nothing;
    return html`<div class="actions selection" role="group" aria-label="Selected keys">
      <span role="status">${plural(size, 'key')} selected</span>
      <button
        type="button"
        class="wa-danger wa-outlined"
        ?disabled=${size > maxSelected}
        @click=${this.askToRevoke}
      >
        Revoke…
      </button>
      <button type="button" class="wa-plain" @click=${() => (this.selected = new Map())}>Select none</button>
      ${
        size > maxSelected
          ? html`<span class="quiet">More than ${maxSelected}: use <code>ops keys revoke</code></span>`
          : nothing
      }
    </div>`;
  }

  list(items: readonly KeyRow[]) {
    return listTable('Keys', items, [
      session.isOperator && this.selectColumn(items),
      ['Name', keyLink, 'name'],
      ['State', ({ state }) => stateTag(state)],
      ['Plan', (key) => html`${planLink(key.plan)} ${ownLimitsNote(key)}`],
      count('Served today', ({ usedToday, dayLimit }) =>
        dayLimit === null
          ? usedToday
          : html`${formatNumber(usedToday)}<span class="quiet"> of ${formatNumber(dayLimit)}</span>`,
      ),
      ['Key', hintOf],
      ['Last used', ({ lastUsedAt }) => relativeOr(lastUsedAt, 'never')],
      ['Created', ({ createdAt }) => relativeOr(createdAt, '–')],
      ['Expires', ({ expiresAt }) => relativeOr(expiresAt, 'never')],
    ]);
  }

  /** A box for each key, and one for all of the page. */
  selectColumn(items: readonly KeyRow[]): Column<KeyRow> {
    const { selected } = this;
    const selectable = items.filter(isSelectable);
    const count = selectable.filter(({ id }) => selected.has(id)).length;
    return [
      html`<input
        type="checkbox"
        aria-label="Select all keys of this page"
        ?disabled=${selectable.length === 0}
        .checked=${count > 0 && count === selectable.length}
        .indeterminate=${count > 0 && count < selectable.length}
        @change=${withField((_, isTicked) => this.select(selectable, isTicked))}
      />`,
      (key) =>
        html`<input
          type="checkbox"
          aria-label=${`Select ${keyTitle(key)}`}
          ?disabled=${!isSelectable(key)}
          .checked=${selected.has(key.id)}
          @change=${withField((_, isTicked) => this.select([key], isTicked))}
        />`,
    ];
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

const isSelectable = ({ state }: KeyRow) => state !== 'revoked';

customElements.define('page-keys', PageKeys);
