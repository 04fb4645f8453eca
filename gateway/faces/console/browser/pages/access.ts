import '../elements/policy-settings.ts';
import { html, nothing } from 'lit';
import { menuColumn, type Action } from '../../../browser/elements/menu.ts';
import { formatRelative, relativeOr } from '../../../browser/format.ts';
import { api, url } from '../api.ts';
import { askToBan, liftBan } from '../elements/key-dialogs.ts';
import { ListPage, type Columns } from '../elements/list-page.ts';
import { keyLink, keyTitle, planLink } from '../key.ts';
import { addressGroup, banPolicyGroup } from '../policy-groups.ts';
import type { ApiToken, Ban, ListedSession } from '../responses.ts';
import { session } from '../session.ts';

const nameOf = ({ id, name }: ApiToken) => keyTitle({ id, name: name ?? '' });

/** Programs that use the API with a token. An operator revokes one. */
class PageTokens extends ListPage<ApiToken> {
  override readonly none = 'No program has a token.';

  override about() {
    return html`<p class="quiet">
      Tokens for the <a href="/api/openapi.json" target="_blank">API</a>.
      <code>ops api-tokens issue</code> issues one.
    </p>`;
  }

  override columns(): Columns<ApiToken> {
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
        menuColumn<ApiToken>(nameOf, (token) => [
          { text: 'Revoke…', name: `Revoke the token ${nameOf(token)}`, act: () => this.revoke(token) },
        ]),
    ];
  }

  revoke(token: ApiToken) {
    this.confirm({
      heading: `Revoke the token ${nameOf(token)}?`,
      action: 'Revoke the token',
      says: 'The program is refused from its next request on, for good.',
      change: () => api.delete(url`/api/tokens/${token.id}`),
      done: `The token ${nameOf(token)} is revoked.`,
    });
  }
}

customElements.define('page-tokens', PageTokens);

/** People who are signed in. An operator ends any session, a viewer only their own. */
class PageSessions extends ListPage<ListedSession> {
  override readonly none = 'Nobody is signed in.';

  override columns(): Columns<ListedSession> {
    return [
      [
        'Person',
        ({ name, own }) => html`${name} ${own ? html`<span class="quiet">this session</span>` : nothing}`,
      ],
      ['Role', ({ role }) => role],
      ['Since', ({ createdAt }) => formatRelative(createdAt), 'minor'],
      ['Granted by', ({ grantedBy }) => grantedBy, 'minor'],
      ['Expires', ({ expiresAt }) => formatRelative(expiresAt), 'labelled'],
      menuColumn<ListedSession>(
        ({ name }) => name,
        (listed) => [
          listed.own
            ? { text: 'Sign out', name: 'Sign out', act: () => this.act(session.signOut) }
            : session.isOperator && {
                text: 'End…',
                name: `End the session of ${listed.name}`,
                act: () => this.end(listed),
              },
        ],
      ),
    ];
  }

  end({ id, name }: ListedSession) {
    this.confirm({
      heading: `End the session of ${name}?`,
      action: 'End the session',
      says: 'The browser is signed out at once. What is typed in it and not saved stays there.',
      change: () => api.delete(url`/api/sessions/${id}`),
      done: `${name} is signed out.`,
    });
  }
}

customElements.define('page-sessions', PageSessions);

/** Active bans, soonest to expire first, and the limits of those who go too far. */
class PageBans extends ListPage<Ban> {
  override readonly label = 'Active bans';
  override readonly none =
    'No key is banned. A key is banned when it goes on after 429: the policy below says when.';

  override actions(): Action[] {
    return [{ text: 'Ban a key…', act: () => askToBan(this) }];
  }

  override about() {
    return html`<h2>Bans, soonest to expire first</h2>`;
  }

  override render() {
    return html`${super.render()}
      <policy-settings .group=${banPolicyGroup}></policy-settings>
      <policy-settings .group=${addressGroup}></policy-settings>`;
  }

  override columns(): Columns<Ban> {
    return [
      ['Key', keyLink, '', keyTitle],
      ['Plan', ({ plan }) => planLink(plan), 'minor', ({ plan }) => plan],
      ['Ends', ({ endsAt }) => formatRelative(endsAt), 'labelled', ({ endsAt }) => endsAt],
      ['Reason', ({ reason }) => reason],
      session.isOperator &&
        menuColumn<Ban>(keyTitle, (ban) => [
          { text: 'Lift', name: `Lift the ban of ${keyTitle(ban)}`, act: () => liftBan(this, ban) },
        ]),
    ];
  }
}

customElements.define('page-bans', PageBans);
