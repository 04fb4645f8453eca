import { html, nothing } from 'lit';
import { policyFields } from '../../../../limits/setting-fields.ts';
import { menuColumn, type Action } from '../../../browser/elements/menu.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { formatNumber, formatRelative, relativeOr } from '../../../browser/format.ts';
import { api, session } from '../api.ts';
import { factList } from '../elements/fact-list.ts';
import { ListPage, type Columns } from '../elements/list-page.ts';
import { offer, offers, offersColumn } from '../elements/operation-dialog.ts';
import { head } from '../elements/page-head.ts';
import { keyLink, keyTitle, planLink } from '../key.ts';
import type { ApiToken, Ban, ListedSession, PolicyState } from '../responses.ts';
import { enforcedText, issueList } from '../setting-text.ts';

/** Programs that use the API with a token. An operator revokes one. */
export class PageTokens extends ListPage<ApiToken> {
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
      offersColumn<ApiToken>(this, 'token'),
    ];
  }
}

/** People who are signed in. An operator ends any session, a viewer only their own. */
export class PageSessions extends ListPage<ListedSession> {
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
        (listed) =>
          [
            listed.own
              ? { text: 'Sign out', name: 'Sign out', act: () => this.act(session.signOut) }
              : session.isOperator && offers(this, 'session', listed),
          ].flat(),
      ),
    ];
  }
}

/** Active bans, soonest to expire first, and the policy. */
export class PageBans extends ListPage<Ban> {
  override readonly label = 'Active bans';
  override readonly none =
    'No key is banned. A key is banned when it goes on after 429: the policy below says when.';

  override actions(): Action[] {
    return [{ ...offer(this, 'banKey'), text: 'Ban a key…' }];
  }

  override about() {
    return html`<h2>Bans, soonest to expire first</h2>`;
  }

  override render() {
    return html`${super.render()} <policy-settings></policy-settings>`;
  }

  override columns(): Columns<Ban> {
    return [
      ['Key', keyLink, '', keyTitle],
      ['Plan', ({ plan }) => planLink(plan), 'minor', ({ plan }) => plan],
      ['Ends', ({ endsAt }) => formatRelative(endsAt), 'labelled', ({ endsAt }) => endsAt],
      ['Reason', ({ reason }) => reason],
      session.isOperator && menuColumn<Ban>(keyTitle, (ban) => [offer(this, 'liftBan', ban)]),
    ];
  }
}

/** The policy: its values, and who enforces them. */
class PolicySettings extends PolledElement<PolicyState> {
  read() {
    return api.get<PolicyState>('/api/policy');
  }

  override render() {
    const { content } = this;
    const change = content && offer(this, 'setPolicy', { ...valuesOf(content), expected: content.stored });
    return html`${head(html`<h2>Policy</h2>`, change ?? false)} ${super.render()}`;
  }

  view(state: PolicyState) {
    const { enabled, ...numbers } = valuesOf(state);
    const known = new Map(Object.entries(numbers));
    const running = state.enforced.reduce((sum, { gateways }) => sum + gateways, state.gateways);
    return html`${issueList(state.issues)}
      ${factList([
        ['Bans of keys that go on after 429', enabled ? 'on' : 'off'],
        ...Object.entries(policyFields).map(
          ([name, { label }]) => [label, formatNumber(known.get(name) ?? null)] as const,
        ),
      ])}
      <p class="quiet">In force: ${enforcedText(state, running, () => 'other values')}</p>`;
  }
}

/** What is stored, or else enforced, or else the defaults. */
const valuesOf = ({ defaults, enforced, stored }: PolicyState) => ({
  ...defaults,
  ...enforced[0]?.value,
  ...stored,
});

customElements.define('policy-settings', PolicySettings);
