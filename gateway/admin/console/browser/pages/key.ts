import { html, nothing } from 'lit';
import type { OwnFields } from '../../../../api-keys/api-key-record.ts';
import { ask } from '../../../../browser/elements/confirm-dialog.ts';
import { openDialog } from '../../../../browser/elements/dialog-element.ts';
import { keyWords } from '../../../../browser/elements/key-fields.ts';
import { inlineFailure } from '../../../../browser/elements/page-state.ts';
import { capitalized, formatNumber, formatRelative, formatTime } from '../../../../browser/format.ts';
import { isWindowName } from '../../../../limits/windows.ts';
import { api } from '../api.ts';
import { askToBan } from '../elements/ban-dialog.ts';
import { DetailPage } from '../elements/detail-page.ts';
import { factList, type Fact } from '../elements/fact-list.ts';
import { KeyFactsForm } from '../elements/facts-form.ts';
import { KeyLimitsForm } from '../elements/key-limits-form.ts';
import { keyStatus } from '../elements/key-status.ts';
import { limitMeters } from '../elements/limit-meter.ts';
import { RotateDialog } from '../elements/rotate-dialog.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { goToKey, keyLink, keyPath, keyTitle, planLink, scopesOf } from '../key.ts';
import type { KeyDetail } from '../responses.ts';
import { session } from '../session.ts';

/** One API key: its state, what it uses, and everything that can be done about it. */
class PageKey extends DetailPage<KeyDetail> {
  override readonly titles = ['Key', 'Keys'] as const;

  /** @param action of the key's state */
  help(key: KeyDetail, action: string) {
    const limits = this.querySelector('limits-form');
    const facts = this.querySelector('key-facts-form');
    if (action === 'lift') void this.lift(key);
    else if (action === 'reset-day') void this.resetDay();
    else if (action === 'revoke') this.askToRevoke(key);
    else if (action === 'expires' && facts instanceof KeyFactsForm) void facts.edit('expiresAt');
    else if ((isWindowName(action) || action === 'plan') && limits instanceof KeyLimitsForm) {
      void limits.edit(action);
    }
  }

  lift(key: KeyDetail) {
    return this.make(() => api.delete(`${this.path}/ban`), `The ban of ${keyTitle(key)} is lifted`);
  }

  ban(key: KeyDetail) {
    askToBan(this, key, (banned) => this.changed(banned));
  }

  rotate(of: KeyDetail) {
    openDialog(this, RotateDialog, { heading: `Rotate the key of ${keyTitle(of)}`, of, ...goToKey });
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
        this.apply(
          api.post(`${this.path}/revoke`),
          'The key is revoked: its requests are refused from now on',
        ),
    });
  }

  view(key: KeyDetail) {
    const { state } = key;
    const canChange = session.isOperator && state !== 'revoked';
    return html`${viewerNote()} ${keyStatus(key, (action) => this.help(key, action))}
      ${inlineFailure(this.failure)} ${renderFacts(key)}
      <h2>Use now</h2>
      ${limitMeters(key)}
      ${
        canChange
          ? html`<h2>Plan and limits</h2>
              <p class="quiet">
                They are those of <a href=${keyPath(key.customerId)}>its customer</a>, so all of its keys have
                them.
              </p>
              <limits-form .subject=${key} .plans=${this.plans} @changed=${this.onChanged}></limits-form>
              <h2>${capitalized(keyWords)}</h2>
              <key-facts-form .subject=${key} @changed=${this.onChanged}></key-facts-form>`
          : nothing
      }
      ${
        canChange
          ? html`<h2>Actions</h2>
              <div class="actions">
                ${state !== 'expired' ? this.renderActions(key) : nothing}
                <button type="button" class="wa-danger" @click=${() => this.askToRevoke(key)}>Revoke…</button>
              </div>`
          : nothing
      } <key-history item=${key.id}></key-history>`;
  }

  renderActions(key: KeyDetail) {
    const ban = (label: string) =>
      html`<button type="button" @click=${() => this.ban(key)}>${label}</button>`;
    return html`<button type="button" @click=${() => this.rotate(key)}>Rotate the key…</button> ${
        key.ban === null
          ? ban('Ban…')
          : html`<button type="button" @click=${() => this.lift(key)}>Lift the ban</button>
              ${ban('Ban for another time…')}`
      }
      ${this.renderResetDay(key.windows.day)}`;
  }
}

/** @param id of another record, whose name is not known */
const other = (id: string) => keyLink({ id, name: '' });

function renderFacts(key: KeyDetail) {
  const {
    id,
    customerId,
    hint,
    plan,
    createdAt,
    expiresAt,
    replaces,
    replacedBy,
    strikes,
    strikesToBan,
    use,
  } = key;
  const facts = {
    id: ['Id', html`<code>${id}</code>`],
    customerId: ['Customer', other(customerId)],
    hint: ['Key', hint === '' ? '–' : html`<code>${hint}</code>`],
    plan: ['Plan', planLink(plan)],
    createdAt: ['Created', createdAt === '' ? '–' : formatTime(createdAt)],
    expiresAt: [
      'Expires',
      expiresAt === null ? 'never' : html`${formatTime(expiresAt)} (${formatRelative(expiresAt)})`,
    ],
    scopes: ['Scopes', scopesOf(key.scopes)],
    use: [
      'Last used',
      use === null
        ? 'never'
        : html`${formatTime(use.lastUsedAt)} (${formatRelative(use.lastUsedAt)}); today
          ${formatNumber(use.servedToday)} served, ${formatNumber(use.refusedToday)} refused`,
    ],
    strikes: strikes > 0 && [
      'Strikes',
      `${formatNumber(strikes)}${strikesToBan === null ? '' : ` of ${formatNumber(strikesToBan)} that lead to a ban`}`,
    ],
    replaces: replaces !== null && ['Replaces', other(replaces)],
    replacedBy: replacedBy !== null && ['Replaced by', other(replacedBy)],
  } satisfies Record<Exclude<keyof OwnFields, 'name' | 'revokedAt' | 'batch'>, Fact> & Record<string, Fact>;
  return factList(Object.values(facts));
}

customElements.define('page-key', PageKey);
