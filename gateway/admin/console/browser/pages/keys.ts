import '../elements/confirm-dialog.ts';
import '../elements/issue-dialog.ts';
import '../elements/key-search-box.ts';
import { html, nothing } from 'lit';
import { windowNames } from '../../../../limits/windows.ts';
import { api } from '../api.ts';
import { showDialog } from '../elements/dialog-element.ts';
import { LightElement } from '../elements/light-element.ts';
import { notify } from '../elements/notice.ts';
import { emptyState, loadFailure, loading } from '../elements/page-state.ts';
import { pagingLinks } from '../elements/paging-links.ts';
import { numeric, table } from '../elements/table.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { formatNumber, formatRelative, plural } from '../format.ts';
import { searchKeys } from '../key-search.ts';
import { keyPath, keyTitle, stateTag } from '../key.ts';
import type { Changed, KeyList, KeyRow } from '../responses.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';

/** All API keys, newest first, and a search that takes anything. */
class PageKeys extends LightElement {
  static override properties = {
    found: { state: true },
    isComplete: { state: true },
    failure: { state: true },
    selected: { state: true },
  };

  found: KeyList | undefined;
  isComplete = false;
  failure: unknown;
  /** Keys that are to be revoked together, by id. They stay selected on other pages and with other filters. */
  selected: ReadonlyMap<string, KeyRow> = new Map();
  request = new AbortController();

  constructor() {
    super();
    this.whileConnected(() => {
      void this.load();
      return router.subscribe(({ path }) => {
        if (path === '/console/keys') void this.load();
      });
    });
    this.whileConnected(() => () => this.request.abort());
  }

  async load() {
    this.request.abort();
    const request = new AbortController();
    this.request = request;
    const { signal } = request;
    this.failure = undefined;
    this.isComplete = false;
    try {
      const found = await searchKeys(router.location.query, {
        signal,
        onPart: (part) => {
          if (!signal.aborted) this.found = part;
        },
      });
      if (signal.aborted) return;
      this.found = found;
      this.isComplete = true;
    } catch (error) {
      if (!signal.aborted) this.failure = error;
    }
  }

  select(keys: readonly KeyRow[], isSelected: boolean) {
    const selected = new Map(this.selected);
    for (const key of keys) {
      if (isSelected) selected.set(key.id, key);
      else selected.delete(key.id);
    }
    this.selected = selected;
  }

  async revoke() {
    const ids = [...this.selected.keys()];
    const { revoked, alreadyRevoked, warnings } = await api.post<
      Changed<{ revoked: number; alreadyRevoked: number }>
    >('/api/keys/revoke', { ids });
    this.selected = new Map();
    const before = alreadyRevoked === 0 ? '' : ` ${plural(alreadyRevoked, 'key')} had been revoked before.`;
    notify(`${plural(revoked, 'key')} revoked, from the next request on.${before}`, warnings);
    await this.load();
  }

  override render() {
    return html`
      <div class="page-head">
        <h1>Keys</h1>
        ${
          session.isOperator
            ? html`<button type="button" class="wa-brand" @click=${() => showDialog(this, 'issue-dialog')}>
                Issue a key
              </button>`
            : viewerNote()
        }
      </div>
      <key-search-box></key-search-box>
      ${this.failure === undefined ? this.renderFound() : loadFailure(this.failure, () => void this.load())}
      <issue-dialog
        @issued=${({ detail }: CustomEvent<{ id: string }>) => router.navigate(keyPath(detail.id))}
      ></issue-dialog>
      ${this.renderRevocation()}
    `;
  }

  renderFound() {
    const { found } = this;
    if (found === undefined) return loading();
    return html`
      <p class="quiet" role="status">${this.describeProgress(found)}</p>
      ${this.renderSelection()}
      ${found.items.length === 0 ? (this.isComplete ? this.renderEmpty(found) : nothing) : this.renderTable(found.items)}
      ${this.isComplete ? pagingLinks(found.next) : nothing}
    `;
  }

  describeProgress({ items, next, read, total }: KeyList) {
    const all = formatNumber(total);
    if (!this.isComplete) return `Searching: ${formatNumber(read)} of ${all} keys read…`;
    const isFiltered = Array.from(router.location.query.keys()).some((name) => name !== 'after');
    if (!isFiltered) return `${all} keys, newest first`;
    const more = next === null ? '' : ' or more';
    return `${formatNumber(items.length)}${more} of ${all} keys match`;
  }

  renderSelection() {
    const { size } = this.selected;
    if (size === 0) return nothing;
    return html`<div class="actions selection" role="group" aria-label="Selected keys">
      <span role="status">${plural(size, 'key')} selected</span>
      <button
        type="button"
        class="wa-danger wa-outlined"
        ?disabled=${size > maxSelected}
        @click=${() => showDialog(this, '.revoke')}
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

  /** Names all of them: some may be on another page. */
  renderRevocation() {
    const keys = [...this.selected.values()];
    return html`<confirm-dialog
      class="revoke"
      heading=${`Revoke ${plural(keys.length, 'key')}?`}
      action="Revoke them"
      danger
      .typed=${String(keys.length)}
      .message=${html`<p>Their requests get 401 from the next one on. A revoked key cannot be restored.</p>
        <ul>
          ${keys.map((key) => html`<li>${keyTitle(key)} <span class="quiet">${key.plan}, ${key.id}</span></li>`)}
        </ul>`}
      .run=${() => this.revoke()}
    ></confirm-dialog>`;
  }

  renderTable(items: KeyRow[]) {
    const { selected } = this;
    const selectable = session.isOperator ? items.filter(isSelectable) : [];
    const count = selectable.filter(({ id }) => selected.has(id)).length;
    const all = html`<th scope="col">
      <input
        type="checkbox"
        aria-label="Select all keys of this page"
        ?disabled=${selectable.length === 0}
        .checked=${count > 0 && count === selectable.length}
        .indeterminate=${count > 0 && count < selectable.length}
        @change=${(event: Event) => this.select(selectable, isChecked(event))}
      />
    </th>`;
    const one = (key: KeyRow) =>
      html`<td>
        <input
          type="checkbox"
          aria-label=${`Select ${keyTitle(key)}`}
          ?disabled=${!isSelectable(key)}
          .checked=${selected.has(key.id)}
          @change=${(event: Event) => this.select([key], isChecked(event))}
        />
      </td>`;
    return table({
      label: 'Keys',
      region: 'wide',
      headings: [
        ...(session.isOperator ? [all] : []),
        'Name',
        'State',
        'Plan',
        numeric('Served today'),
        'Key',
        'Last used',
        'Created',
        'Expires',
      ],
      rows: items.map((key) => renderRow(key, session.isOperator ? one(key) : nothing)),
    });
  }

  renderEmpty({ total }: KeyList) {
    if (total === 0) {
      return emptyState(
        'There are no API keys yet',
        session.isOperator ? 'Issue one for your first customer.' : 'An operator can issue one.',
      );
    }
    return emptyState(
      'No key matches',
      html`Give less of the name, or <a href="/console/keys">clear the search and all filters</a>.`,
    );
  }
}

/** As many as the API revokes at once. */
const maxSelected = 500;

const isSelectable = ({ state }: KeyRow) => state !== 'revoked';

const isChecked = ({ target }: Event) => target instanceof HTMLInputElement && target.checked;

/** @param select cell that selects the key */
function renderRow(key: KeyRow, select: unknown) {
  const { id, plan, hint, state, usedToday, dayLimit, createdAt, expiresAt } = key;
  const ownLimits = windowNames.some((name) => (key[name] ?? null) !== null);
  return html`<tr>
    ${select}
    <th scope="row"><a href=${keyPath(id)}>${keyTitle(key)}</a></th>
    <td>${stateTag(state)}</td>
    <td>
      ${plan === '' ? '–' : html`<a href=${url`/console/plans/${plan}`}>${plan}</a>`}
      ${ownLimits ? html`<span class="quiet">own limits</span>` : nothing}
    </td>
    <td class="number">
      ${formatNumber(usedToday)}${dayLimit === null ? nothing : html`<span class="quiet"> of ${formatNumber(dayLimit)}</span>`}
    </td>
    <td><code>${hint === '' ? id : hint}</code></td>
    <td>${key.lastUsedAt === null ? 'never' : formatRelative(key.lastUsedAt)}</td>
    <td>${createdAt === '' ? '–' : formatRelative(createdAt)}</td>
    <td>${expiresAt === null ? 'never' : formatRelative(expiresAt)}</td>
  </tr>`;
}

customElements.define('page-keys', PageKeys);
