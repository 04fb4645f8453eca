import '../elements/issue-dialog.ts';
import '../elements/key-search-box.ts';
import { html, nothing } from 'lit';
import { windowNames } from '../../../../limits/windows.ts';
import { showDialog } from '../elements/dialog-element.ts';
import { LightElement } from '../elements/light-element.ts';
import { emptyState, loadFailure, loading } from '../elements/page-state.ts';
import { numeric, table } from '../elements/table.ts';
import { formatNumber, formatRelative } from '../format.ts';
import { searchKeys } from '../key-search.ts';
import { keyPath, keyTitle, stateTag } from '../key.ts';
import type { KeyList, KeyRow } from '../responses.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';

/** All API keys, newest first, and a search that takes anything. */
class PageCustomers extends LightElement {
  static override properties = {
    found: { state: true },
    isComplete: { state: true },
    failure: { state: true },
  };

  found: KeyList | undefined;
  isComplete = false;
  failure: unknown;
  request = new AbortController();

  constructor() {
    super();
    this.whileConnected(() => {
      void this.load();
      return router.subscribe(({ path }) => {
        if (path === '/console/customers') void this.load();
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

  override render() {
    return html`
      <div class="page-head">
        <h1>Customers</h1>
        ${
          session.isOperator
            ? html`<button type="button" class="wa-brand" @click=${() => showDialog(this, 'issue-dialog')}>
                Issue a key
              </button>`
            : html`<p class="quiet">You have a viewer's link: you can look, and change nothing.</p>`
        }
      </div>
      <key-search-box></key-search-box>
      ${this.failure === undefined ? this.renderFound() : loadFailure(this.failure, () => void this.load())}
      <issue-dialog
        @issued=${({ detail }: CustomEvent<{ id: string }>) => router.navigate(keyPath(detail.id))}
      ></issue-dialog>
    `;
  }

  renderFound() {
    const { found } = this;
    if (found === undefined) return loading();
    return html`
      <p class="quiet" role="status">${this.describeProgress(found)}</p>
      ${found.items.length === 0 ? (this.isComplete ? this.renderEmpty(found) : nothing) : renderTable(found.items)}
      ${this.isComplete ? renderPaging(found.next) : nothing}
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

  renderEmpty({ total }: KeyList) {
    if (total === 0) {
      return emptyState(
        'There are no API keys yet',
        session.isOperator ? 'Issue one for your first customer.' : 'An operator can issue one.',
      );
    }
    return emptyState(
      'No key matches',
      html`Give less of the name, or <a href="/console/customers">clear the search and all filters</a>.`,
    );
  }
}

function renderTable(items: KeyRow[]) {
  return table({
    label: 'Keys',
    region: 'wide',
    headings: ['Customer', 'State', 'Plan', numeric('Served today'), 'Key', 'Created', 'Expires'],
    rows: items.map(renderRow),
  });
}

function renderRow(key: KeyRow) {
  const { id, plan, hint, state, usedToday, dayLimit, createdAt, expiresAt } = key;
  const ownLimits = windowNames.some((name) => (key[name] ?? null) !== null);
  return html`<tr>
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
    <td>${createdAt === '' ? '–' : formatRelative(createdAt)}</td>
    <td>${expiresAt === null ? 'never' : formatRelative(expiresAt)}</td>
  </tr>`;
}

function renderPaging(next: string | null) {
  const { path, query } = router.location;
  const isFirst = !query.has('after');
  if (isFirst && next === null) return nothing;
  const address = (after: string | null) => {
    const changed = new URLSearchParams(query);
    if (after === null) changed.delete('after');
    else changed.set('after', after);
    return changed.size === 0 ? path : `${path}?${changed}`;
  };
  return html`<nav class="actions paging" aria-label="Pages">
    ${isFirst ? nothing : html`<a href=${address(null)}>First page</a>`}
    ${next === null ? nothing : html`<a href=${address(next)}>Next page</a>`}
  </nav>`;
}

customElements.define('page-customers', PageCustomers);
