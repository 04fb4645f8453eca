import { html, nothing } from 'lit';
import type { OwnFields } from '../../../../keys/api-key-record.ts';
import { keyWords } from '../../../browser/elements/key-fields.ts';
import { actionButtons } from '../../../browser/elements/menu.ts';
import { formatNumber, formatRelative, formatTime } from '../../../browser/format.ts';
import { DetailPage } from '../elements/detail-page.ts';
import { askForKeyFacts } from '../elements/edit-dialogs.ts';
import { factList, type Fact } from '../elements/fact-list.ts';
import { keyActions } from '../elements/key-actions.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { describeNext, keyLink, keyPath, scopesOf, stateTag } from '../key.ts';
import type { KeyDetail } from '../responses.ts';
import { session } from '../session.ts';

/** One API key: its state, what it uses, and everything that can be done about it. */
class PageKey extends DetailPage<KeyDetail> {
  override readonly noun = 'Key';

  head(key: KeyDetail) {
    return session.isOperator
      ? html`<div class="actions">${actionButtons(keyActions(this, key))}</div>`
      : nothing;
  }

  /** What the next request gets, and what helps if it is refused. */
  status(key: KeyDetail) {
    const { next, state } = key;
    return html`<section class="panel status ${next.served ? '' : 'refused'}" aria-label="State">
      <p>${stateTag(state === 'valid' && !next.served ? 'limited' : state)}</p>
      <p class="headline">The next request is ${describeNext(next)}.</p>
      ${
        session.isOperator && state === 'expired'
          ? html`<button type="button" class="primary" @click=${() => askForKeyFacts(this, key)}>
              Give it more time
            </button>`
          : nothing
      }
    </section>`;
  }

  view(key: KeyDetail) {
    return html`${viewerNote()} ${this.status(key)} ${renderFacts(key)}
      <p class="quiet">
        Plan, limits and what is used of them are those of
        <a href=${keyPath(key.customerId)}>its customer</a>.
      </p>
      ${
        session.isOperator && key.state !== 'revoked'
          ? html`<div class="actions">
              <button type="button" @click=${() => askForKeyFacts(this, key)}>Change ${keyWords}…</button>
            </div>`
          : nothing
      }
      <key-history item=${key.id}></key-history>`;
  }
}

/** @param id of another record, whose name is not known */
const other = (id: string) => keyLink({ id, name: '' });

function renderFacts(key: KeyDetail) {
  const {
    id,
    customerId,
    hint,
    createdAt,
    expiresAt,
    replaces,
    replacedBy,
    strikes,
    strikesToBan,
    lastUsedAt,
  } = key;
  const facts = {
    id: ['Id', html`<code>${id}</code>`],
    customerId: ['Customer', other(customerId)],
    hint: ['Key', hint === '' ? '–' : html`<code>${hint}</code>`],
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
    replaces: replaces !== null && ['Replaces', other(replaces)],
    replacedBy: replacedBy !== null && ['Replaced by', other(replacedBy)],
  } satisfies Record<Exclude<keyof OwnFields, 'name' | 'plan' | 'revokedAt' | 'batch'>, Fact> &
    Record<string, Fact>;
  return factList(Object.values(facts));
}

customElements.define('page-key', PageKey);
