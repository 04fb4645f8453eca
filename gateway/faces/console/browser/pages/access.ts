import { html, nothing } from 'lit';
import { button } from '../../../browser/elements/table.ts';
import { formatRelative, relativeOr } from '../../../browser/format.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { ListPage, type Columns } from '../elements/list-page.ts';
import { keyTitle } from '../key.ts';
import type { ApiToken, ListedSession } from '../responses.ts';
import { session } from '../session.ts';

const nameOf = ({ id, name }: ApiToken) => keyTitle({ id, name: name ?? '' });

/** Programs that use the API with a token. An operator revokes one. */
class PageTokens extends ListPage<ApiToken> {
  override readonly heading = 'API tokens';
  override readonly list = '/api/tokens';
  override readonly none = ['No program has a token', 'A program needs one to call the API.'] as const;

  override about() {
    return html`<p class="quiet">
      Tokens for the <a href="/api/docs" target="_blank">API</a>. <code>ops api-tokens issue</code> issues
      one.
    </p>`;
  }

  columns(): Columns<ApiToken> {
    return [
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
          (token) =>
            this.confirm({
              heading: `Revoke the token ${nameOf(token)}?`,
              action: 'Revoke the token',
              says: 'The program is refused from its next request on, for good.',
              change: () => api.delete(url`/api/tokens/${token.id}`),
              done: `The token ${nameOf(token)} is revoked.`,
            }),
        ),
    ];
  }
}

customElements.define('page-tokens', PageTokens);

/** People who are signed in. An operator ends any session, a viewer only their own. */
class PageSessions extends ListPage<ListedSession> {
  override readonly heading = 'Sessions';
  override readonly list = '/api/sessions';
  override readonly none = ['Nobody is signed in', ''] as const;

  columns(): Columns<ListedSession> {
    return [
      [
        'Person',
        ({ name, own }) => html`${name} ${own ? html`<span class="quiet">this session</span>` : nothing}`,
      ],
      ['Role', ({ role }) => role],
      ['Since', ({ createdAt }) => formatRelative(createdAt), 'minor'],
      ['Granted by', ({ grantedBy }) => grantedBy, 'minor'],
      ['Expires', ({ expiresAt }) => formatRelative(expiresAt), 'labelled'],
      ['Action', (listed) => this.action(listed), 'action'],
    ];
  }

  action({ id, name, own }: ListedSession) {
    if (own) return html`<button type="button" @click=${() => this.act(session.signOut)}>Sign out</button>`;
    const end = () =>
      this.confirm({
        heading: `End the session of ${name}?`,
        action: 'End the session',
        says: 'The browser is signed out at once. What is typed in it and not saved stays there.',
        change: () => api.delete(url`/api/sessions/${id}`),
        done: `${name} is signed out.`,
      });
    return session.isOperator
      ? html`<button type="button" aria-label=${`End the session of ${name}`} @click=${end}>End…</button>`
      : nothing;
  }
}

customElements.define('page-sessions', PageSessions);
