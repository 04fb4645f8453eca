import './confirm-dialog.ts';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formatRelative } from '../format.ts';
import { Refresher } from '../refresher.ts';
import type { ApiToken, Changed, Page } from '../responses.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';
import { ActingElement } from './acting-element.ts';
import { showDialog } from './dialog-element.ts';
import { notify } from './notice.ts';
import { inlineFailure } from './page-state.ts';
import { table } from './table.ts';

const nameOf = ({ id, name }: Pick<ApiToken, 'id' | 'name'>) => name ?? id;

/** Programs that use the API with a token. An operator revokes one. */
class ApiTokens extends ActingElement {
  static override properties = { tokens: { state: true }, chosen: { state: true } };

  tokens: ApiToken[] | undefined;
  /** The token that is to be revoked. */
  chosen: ApiToken | undefined;
  refresher = new Refresher(
    this,
    () => this.load(),
    () => 5000,
  );

  async load() {
    this.tokens = (await api.get<Page<ApiToken>>('/api/tokens')).items;
  }

  async askToRevoke(chosen: ApiToken) {
    this.chosen = chosen;
    await this.updateComplete;
    showDialog(this, '.revoke');
  }

  async revoke({ id, name }: ApiToken) {
    const { warnings } = await api.delete<Changed>(url`/api/tokens/${id}`);
    notify(`The token ${nameOf({ id, name })} is revoked.`, warnings);
    await this.refresher.now();
  }

  override render() {
    const { chosen, tokens } = this;
    return html`<h2>Programs</h2>
      <p class="quiet">
        Tokens for the <a href="/api/docs" target="_blank">API</a>. <code>ops api-tokens issue</code> issues
        one.
      </p>
      ${inlineFailure(this.refresher.failure)}
      ${tokens === undefined ? this.refresher.placeholder() : this.list(tokens)}
      <confirm-dialog
        class="revoke"
        heading=${`Revoke the token ${chosen === undefined ? '' : nameOf(chosen)}?`}
        action="Revoke the token"
        danger
        .message=${html`<p>The program is refused from its next request on, for good.</p>`}
        .run=${() => (chosen === undefined ? Promise.resolve() : this.revoke(chosen))}
      ></confirm-dialog>`;
  }

  list(tokens: ApiToken[]) {
    if (tokens.length === 0) return html`<p>No program has a token.</p>`;
    return table({
      label: 'Tokens of programs',
      region: 'wide',
      headings: [
        'Program',
        'Scopes',
        'Last used',
        'Issued',
        'By',
        'Expires',
        html`<th scope="col"><span class="wa-visually-hidden">Action</span></th>`,
      ],
      rows: tokens.map((token) => this.row(token)),
    });
  }

  row(token: ApiToken) {
    const { id, name, scopes, createdAt, createdBy, lastUsedAt, expiresAt, state } = token;
    return html`<tr>
      <th scope="row">${name} <span class="quiet">${id}</span></th>
      <td>${scopes.join(', ')}</td>
      <td>
        ${lastUsedAt === null ? html`<span class="quiet">not used yet</span>` : formatRelative(lastUsedAt)}
      </td>
      <td>${formatRelative(createdAt)}</td>
      <td>${createdBy}</td>
      <td>${state === 'expired' ? 'expired ' : nothing}${formatRelative(expiresAt)}</td>
      <td>
        ${
          session.isOperator
            ? html`<button
                type="button"
                aria-label=${`Revoke the token ${nameOf(token)}`}
                @click=${() => void this.askToRevoke(token)}
              >
                Revoke…
              </button>`
            : nothing
        }
      </td>
    </tr>`;
  }
}

customElements.define('api-tokens', ApiTokens);
