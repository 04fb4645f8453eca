import { html, nothing } from 'lit';
import type { OwnFields } from '../../../../keys/api-key-record.ts';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { keyWords } from '../../../browser/elements/key-fields.ts';
import { formatNumber, formatRelative, formatTime } from '../../../browser/format.ts';
import { api } from '../api.ts';
import { DetailPage } from '../elements/detail-page.ts';
import { askForKeyFacts, askToBan } from '../elements/edit-dialogs.ts';
import { factList, type Fact } from '../elements/fact-list.ts';
import { keyStatus } from '../elements/key-status.ts';
import { askToRotate } from '../elements/new-key-dialogs.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { keyLink, keyPath, keyTitle, scopesOf } from '../key.ts';
import type { Changed, KeyDetail } from '../responses.ts';
import { session } from '../session.ts';

/** One API key: its state, what it uses, and everything that can be done about it. */
class PageKey extends DetailPage<KeyDetail> {
  override readonly noun = 'Key';

  lift(key: KeyDetail) {
    return this.make(() => api.delete(`${this.path}/ban`), `The ban of ${keyTitle(key)} is lifted`);
  }

  askToRevoke(key: KeyDetail) {
    ask(this, {
      heading: `Revoke the key of ${keyTitle(key)}?`,
      action: 'Revoke the key',
      danger: true,
      typed: keyTitle(key),
      message: () =>
        html`<p>
          From its next request on, the key is refused with 401, for good. A revoked key cannot be restored.
        </p>`,
      run: () =>
        this.saved(
          api.post<Changed>(`${this.path}/revoke`),
          'The key is revoked: its requests are refused from now on',
        ),
    });
  }

  head(key: KeyDetail) {
    return session.isOperator && key.state !== 'revoked' ? this.renderActions(key) : nothing;
  }

  view(key: KeyDetail) {
    const help = { lift: () => this.lift(key), giveTime: () => askForKeyFacts(this, key) };
    return html`${viewerNote()} ${keyStatus(key, help)} ${renderFacts(key)}
      <p class="quiet">
        Plan, limits and what is used of them are those of
        <a href=${keyPath(key.customerId)}>its customer</a>.
      </p>
      ${
        session.isOperator && key.state !== 'revoked'
          ? html`<div class="actions">${button(`Change ${keyWords}…`, () => askForKeyFacts(this, key))}</div>`
          : nothing
      }
      <key-history item=${key.id}></key-history>`;
  }

  renderActions(key: KeyDetail) {
    return html`<div class="actions">
      ${
        key.state === 'expired'
          ? nothing
          : html`${button('Rotate the key…', () => askToRotate(this, key))}
            ${button(key.ban === null ? 'Ban…' : 'Ban for another time…', () => askToBan(this, key))}`
      }
      <button type="button" class="danger" @click=${() => this.askToRevoke(key)}>Revoke…</button>
    </div>`;
  }
}

const button = (text: string, act: () => unknown) =>
  html`<button type="button" @click=${act}>${text}</button>`;

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
