import { html, nothing } from 'lit';
import type { OwnFields } from '../../../../keys/api-key-record.ts';
import { hintOf, scopesOf } from '../../../browser/elements/key-columns.ts';
import { actionButtons } from '../../../browser/elements/menu.ts';
import { stateTag } from '../../../browser/elements/state-tag.ts';
import { formatNumber, formatRelative, formatTime } from '../../../browser/format.ts';
import { api } from '../api.ts';
import { DetailPage } from '../elements/detail-page.ts';
import { factList, type Fact } from '../elements/fact-list.ts';
import { keyActions } from '../elements/key-actions.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { apiPath, describeNext, keyLink } from '../key.ts';
import type { CustomerDetail, KeyDetail } from '../responses.ts';
import { session } from '../session.ts';

/** One API key: its state, what it uses, and everything that can be done about it. */
class PageKey extends DetailPage<KeyDetail> {
  override readonly noun = 'Key';

  /** Its customer, for its name. Read once. */
  customer: { id: string; name: string } | undefined;

  override async read() {
    const key = await super.read();
    this.customer ??= await api.get<CustomerDetail>(apiPath(key.customerId));
    return key;
  }

  head(key: KeyDetail) {
    return session.isOperator
      ? html`<div class="actions">${actionButtons(keyActions(this, key))}</div>`
      : nothing;
  }

  view(key: KeyDetail) {
    const { next, state } = key;
    return html`${viewerNote()}
      <section class="panel status ${next.served ? '' : 'refused'}" aria-label="State">
        <p>${stateTag(state === 'valid' && !next.served ? 'limited' : state)}</p>
        <p class="headline">The next request is ${describeNext(next)}.</p>
      </section>
      ${renderFacts(key, this.customer ?? other(key.customerId))}
      <key-history item=${key.id}></key-history>`;
  }
}

/** @param id of another record, whose name is not known */
const other = (id: string) => ({ id, name: '' });

function renderFacts(key: KeyDetail, customer: { id: string; name: string }) {
  const { id, createdAt, expiresAt, replaces, replacedBy, strikes, strikesToBan, lastUsedAt } = key;
  const facts = {
    id: ['Id', html`<code>${id}</code>`],
    customerId: ['Customer', html`${keyLink(customer)}, which has the plan and the limits`],
    hint: ['Key', hintOf(key)],
    createdAt: ['Created', createdAt === '' ? '–' : formatTime(createdAt)],
    expiresAt: [
      'Expires',
      expiresAt === null ? 'never' : html`${formatTime(expiresAt)} (${formatRelative(expiresAt)})`,
    ],
    scopes: ['Scopes', scopesOf(key.scopes)],
    use: [
      'Last used',
      lastUsedAt === null
        ? 'never'
        : html`${formatTime(lastUsedAt)} (${formatRelative(lastUsedAt)}); today
          ${formatNumber(key.servedToday)} served, ${formatNumber(key.refusedToday)} refused`,
    ],
    strikes: strikes > 0 && [
      'Strikes',
      `${formatNumber(strikes)}${strikesToBan === null ? '' : ` of ${formatNumber(strikesToBan)} that lead to a ban`}`,
    ],
    replaces: replaces !== null && ['Replaces', keyLink(other(replaces))],
    replacedBy: replacedBy !== null && ['Replaced by', keyLink(other(replacedBy))],
  } satisfies Record<Exclude<keyof OwnFields, 'name' | 'plan' | 'revokedAt' | 'batch'>, Fact> &
    Record<string, Fact>;
  return factList(Object.values(facts));
}

customElements.define('page-key', PageKey);
