import '../elements/issue-dialog.ts';
import '../elements/key-search-box.ts';
import { html, nothing } from 'lit';
import { IssueDialog } from '../elements/issue-dialog.ts';
import { LightElement } from '../elements/light-element.ts';
import { emptyState, loadFailure } from '../elements/page-state.ts';
import { numeric, table } from '../elements/table.ts';
import { formatNumber, formatRelative } from '../format.ts';
import { searchKeys } from '../key-search.ts';
import { keyPath, keyTitle, stateTag } from '../key.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';

/** @typedef {import('../key-search.ts').Found} Found */
/** @typedef {import('../key-search.ts').KeyRow} KeyRow */

/** All API keys, newest first, and a search that takes anything. */
class PageCustomers extends LightElement {
  static properties = {
    found: { state: true },
    isComplete: { state: true },
    failure: { state: true },
  };

  constructor() {
    super();
    /** @type {Found | undefined} */
    this.found = undefined;
    this.isComplete = false;
    /** @type {unknown} */
    this.failure = undefined;
    this.request = new AbortController();
  }

  connectedCallback() {
    super.connectedCallback();
    this.unsubscribe = router.subscribe(({ path }) => {
      if (path === '/console/customers') void this.load();
    });
    void this.load();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.unsubscribe?.();
    this.request.abort();
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

  issue() {
    const dialog = this.querySelector('issue-dialog');
    if (dialog instanceof IssueDialog) dialog.show();
  }

  render() {
    return html`
      <div class="page-head">
        <h1>Customers</h1>
        ${
          session.isOperator
            ? html`<button type="button" class="wa-brand" @click=${this.issue}>Issue a key</button>`
            : html`<p class="quiet">You have a viewer's link: you can look, and change nothing.</p>`
        }
      </div>
      <key-search-box></key-search-box>
      ${this.failure === undefined ? this.renderFound() : loadFailure(this.failure, () => void this.load())}
      <issue-dialog
        @issued=${(/** @type {CustomEvent<{ id: string }>} */ { detail }) => router.navigate(keyPath(detail.id))}
      ></issue-dialog>
    `;
  }

  renderFound() {
    const { found } = this;
    if (found === undefined) return html`<p class="quiet" role="status">Loading…</p>`;
    return html`
      <p class="quiet" role="status">${this.describeProgress(found)}</p>
      ${found.items.length === 0 ? (this.isComplete ? this.renderEmpty(found) : nothing) : renderTable(found.items)}
      ${this.isComplete ? renderPaging(found.next) : nothing}
    `;
  }

  /** @param {Found} found */
  describeProgress({ items, next, read, total }) {
    const all = formatNumber(total);
    if (!this.isComplete) return `Searching: ${formatNumber(read)} of ${all} keys read…`;
    const isFiltered = Array.from(router.location.query.keys()).some((name) => name !== 'after');
    if (!isFiltered) return `${all} keys, newest first`;
    const more = next === null ? '' : ' or more';
    return `${formatNumber(items.length)}${more} of ${all} keys match`;
  }

  /** @param {Found} found */
  renderEmpty({ total }) {
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

/** @param {KeyRow[]} items */
function renderTable(items) {
  return table({
    label: 'Keys',
    region: 'wide',
    headings: ['Customer', 'State', 'Plan', numeric('Served today'), 'Key', 'Created', 'Expires'],
    rows: items.map(renderRow),
  });
}

/** @param {KeyRow} key */
function renderRow(key) {
  const { id, plan, hint, state, minute, day, usedToday, dayLimit, createdAt, expiresAt } = key;
  const ownLimits = minute !== null || day !== null;
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

/** @param {string | null} next */
function renderPaging(next) {
  const { path, query } = router.location;
  const isFirst = !query.has('after');
  if (isFirst && next === null) return nothing;
  const address = (/** @type {string | null} */ after) => {
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
