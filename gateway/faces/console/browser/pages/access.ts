import { html, nothing } from 'lit';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { button, listTable } from '../../../browser/elements/table.ts';
import { formatRelative, relativeOr } from '../../../browser/format.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import type { ApiToken, Changed, ListedSession, Page } from '../responses.ts';
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

/** People who are signed in. An operator ends any session, a viewer only their own. */
class PageSessions extends PolledElement<ListedSession[]> {
  async read() {
    return (await api.get<Page<ListedSession>>('/api/sessions')).items;
  }

  askToEnd({ id, name }: ListedSession) {
    ask(this, {
      heading: `End the session of ${name}?`,
      action: 'End the session',
      danger: true,
      message: () =>
        html`<p>The browser is signed out at once. What is typed in it and not saved stays there.</p>`,
      run: () => this.saved(api.delete<Changed>(url`/api/sessions/${id}`), `${name} is signed out.`),
    });
  }

  override render() {
    return html`<h1>Sessions</h1>
      <p class="quiet">
        Who is signed in to the console.
        ${session.isOperator ? nothing : "You have a viewer's link: you can end your own session only."}
      </p>
      ${super.render()}`;
  }

  view(sessions: ListedSession[]) {
    return listTable('Sessions', sessions, [
      [
        'Person',
        ({ name, own }) => html`${name} ${own ? html`<span class="quiet">this session</span>` : nothing}`,
      ],
      ['Role', ({ role }) => role],
      ['Since', ({ createdAt }) => formatRelative(createdAt), 'minor'],
      ['Granted by', ({ grantedBy }) => grantedBy, 'minor'],
      ['Expires', ({ expiresAt }) => formatRelative(expiresAt), 'labelled'],
      ['Action', (listed) => this.action(listed), 'action'],
    ]);
  }

  action(listed: ListedSession) {
    if (listed.own) {
      return html`<button
        type="button"
        ?disabled=${this.busy}
        @click=${() => void this.act(() => session.signOut())}
      >
        Sign out
      </button>`;
    }
    if (!session.isOperator) return nothing;
    return html`<button
      type="button"
      aria-label=${`End the session of ${listed.name}`}
      @click=${() => this.askToEnd(listed)}
    >
      End…
    </button>`;
  }
}

customElements.define('page-sessions', PageSessions);
