import { html } from 'lit';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { button, listTable } from '../../../browser/elements/table.ts';
import { formatRelative, relativeOr } from '../../../browser/format.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import type { ApiToken, Changed, Page } from '../responses.ts';
import { session } from '../session.ts';

const nameOf = ({ id, name }: Pick<ApiToken, 'id' | 'name'>) => name ?? id;

/** Programs that use the API with a token. An operator revokes one. */
class PageTokens extends PolledElement<ApiToken[]> {
  async read() {
    return (await api.get<Page<ApiToken>>('/api/tokens')).items;
  }

  askToRevoke(token: ApiToken) {
    ask(this, {
      heading: `Revoke the token ${nameOf(token)}?`,
      action: 'Revoke the token',
      danger: true,
      message: () => html`<p>The program is refused from its next request on, for good.</p>`,
      run: () =>
        this.saved(
          api.delete<Changed>(url`/api/tokens/${token.id}`),
          `The token ${nameOf(token)} is revoked.`,
        ),
    });
  }

  override render() {
    return html`<h1>API tokens</h1>
      <p class="quiet">
        Tokens for the <a href="/api/docs" target="_blank">API</a>. <code>ops api-tokens issue</code> issues
        one.
      </p>
      ${super.render()}`;
  }

  view(tokens: ApiToken[]) {
    if (tokens.length === 0) return html`<p>No program has a token.</p>`;
    return listTable('Tokens of programs', tokens, [
      ['Program', ({ id, name }) => html`${name} <span class="quiet">${id}</span>`],
      ['Scopes', ({ scopes }) => scopes.join(', ')],
      [
        'Last used',
        ({ lastUsedAt }) => relativeOr(lastUsedAt, html`<span class="quiet">not used yet</span>`),
        'labelled',
      ],
      ['Issued', ({ createdAt }) => formatRelative(createdAt), 'minor'],
      ['By', ({ createdBy }) => createdBy, 'minor'],
      [
        'Expires',
        ({ state, expiresAt }) => html`${state === 'expired' ? 'expired ' : ''}${formatRelative(expiresAt)}`,
        'labelled',
      ],
      session.isOperator &&
        button(
          'Revoke…',
          (token) => `Revoke the token ${nameOf(token)}`,
          (token) => this.askToRevoke(token),
        ),
    ]);
  }
}

customElements.define('page-tokens', PageTokens);
