import '../elements/ban-dialog.ts';
import '../elements/confirm-dialog.ts';
import '../elements/key-facts-form.ts';
import '../elements/key-history.ts';
import '../elements/key-status.ts';
import '../elements/key-trial.ts';
import '../elements/key-limits-form.ts';
import '../elements/rotate-dialog.ts';
import { html, nothing } from 'lit';
import { isWindowName } from '../../../../limits/windows.ts';
import { api } from '../api.ts';
import { DetailPage, factList } from '../elements/detail-page.ts';
import { showDialog } from '../elements/dialog-element.ts';
import { KeyFactsForm } from '../elements/key-facts-form.ts';
import { KeyLimitsForm } from '../elements/key-limits-form.ts';
import { limitMeters } from '../elements/limit-meter.ts';
import { inlineFailure } from '../elements/page-state.ts';
import { numeric, table } from '../elements/table.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { formatNumber, formatRelative, formatTime } from '../format.ts';
import { keyPath, keyTitle } from '../key.ts';
import type { KeyDetail } from '../responses.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';

/** One API key: its state, what it uses, and everything that can be done about it. */
class PageKey extends DetailPage<KeyDetail> {
  /** @param action of key-status */
  help(action: string) {
    const limits = this.querySelector('limits-form');
    const facts = this.querySelector('key-facts-form');
    if (action === 'lift') void this.lift();
    else if (action === 'reset-day') void this.resetDay();
    else if (action === 'revoke') showDialog(this, 'confirm-dialog');
    else if (action === 'expires' && facts instanceof KeyFactsForm) void facts.editExpiry();
    else if ((isWindowName(action) || action === 'plan') && limits instanceof KeyLimitsForm) {
      void limits.edit(action);
    }
  }

  lift() {
    const title = this.detail === undefined ? '' : ` of ${keyTitle(this.detail)}`;
    return this.make(() => api.delete(`${this.path}/ban`), `The ban${title} is lifted`);
  }

  revoke() {
    return this.apply(
      () => api.post(`${this.path}/revoke`),
      'The key is revoked: its requests are refused from now on',
    );
  }

  override render() {
    const key = this.detail;
    if (key === undefined) {
      if (this.refresher.failure === undefined) return this.refresher.placeholder();
      return html`<h1>Key</h1>
        ${this.refresher.placeholder()}
        <p><a href="/console/keys">All keys</a></p>`;
    }
    const hasRecord = key.windows !== null;
    const canChange = session.isOperator && hasRecord && key.state !== 'revoked';
    return html`
      <p><a href="/console/keys">Keys</a></p>
      <h1>${keyTitle(key)}</h1>
      ${this.renderStale()} ${viewerNote()}
      <key-status .key=${key} @help=${({ detail }: CustomEvent<string>) => this.help(detail)}></key-status>
      ${inlineFailure(this.failure)} ${renderFacts(key)} ${renderRefusedUse(key)} ${renderMeters(key)}
      ${renderUse(key)}
      <key-trial .key=${key} @changed=${this.onChanged}></key-trial>
      ${
        canChange
          ? html`<h2>Plan and limits</h2>
              ${this.renderTemporary(key)}
              <p class="quiet">
                They are those of <a href=${keyPath(key.customerId)}>its customer</a>, so all of its keys have
                them.
              </p>
              <limits-form .subject=${key} .plans=${this.plans} @changed=${this.onChanged}></limits-form>
              <h2>Name, expiry and scopes</h2>
              <key-facts-form .key=${key} @changed=${this.onChanged}></key-facts-form>`
          : nothing
      }
      ${this.renderActions(key, canChange)}
      <key-history item=${key.id}></key-history>
      ${this.renderDialogs(key)}
    `;
  }

  renderActions(key: KeyDetail, canChange: boolean) {
    const canRevoke = session.isOperator && (canChange || key.state === 'unusable');
    if (!canRevoke) return nothing;
    return html`<h2>Actions</h2>
      <div class="actions">
        ${
          canChange && key.state !== 'expired'
            ? html`<button type="button" @click=${() => showDialog(this, 'rotate-dialog')}>
                  Rotate the key…
                </button>
                ${
                  key.ban === null
                    ? html`<button type="button" @click=${() => showDialog(this, 'ban-dialog')}>Ban…</button>`
                    : html`<button type="button" @click=${this.lift}>Lift the ban</button>
                        <button type="button" @click=${() => showDialog(this, 'ban-dialog')}>
                          Ban for another time…
                        </button>`
                }
                ${this.renderResetDay(key.windows?.day)}`
            : nothing
        }
        <button type="button" class="wa-danger" @click=${() => showDialog(this, 'confirm-dialog')}>
          Revoke…
        </button>
      </div>`;
  }

  renderDialogs(key: KeyDetail) {
    if (!session.isOperator) return nothing;
    return html`<ban-dialog .key=${key} @changed=${this.onChanged}></ban-dialog>
      <rotate-dialog
        .of=${key}
        @issued=${({ detail }: CustomEvent<{ id: string }>) => router.navigate(keyPath(detail.id))}
      ></rotate-dialog>
      <confirm-dialog
        heading=${`Revoke the key of ${keyTitle(key)}?`}
        action="Revoke the key"
        danger
        .typed=${keyTitle(key)}
        .message=${html`<p>
          From its next request on, the key is refused with 401, for good. A revoked key cannot be restored.
        </p>`}
        .run=${() => this.revoke()}
      ></confirm-dialog>`;
  }
}

function renderFacts(key: KeyDetail) {
  const {
    id,
    customerId,
    hint,
    plan,
    createdAt,
    expiresAt,
    scopes,
    replaces,
    replacedBy,
    strikes,
    strikesToBan,
  } = key;
  const facts: [string, unknown][] = [
    ['Id', html`<code>${id}</code>`],
    ['Customer', customerId === '' ? '–' : html`<a href=${keyPath(customerId)}>${customerId}</a>`],
    ['Key', hint === '' ? '–' : html`<code>${hint}</code>`],
    ['Plan', plan === '' ? '–' : html`<a href=${url`/console/plans/${plan}`}>${plan}</a>`],
    ['Created', createdAt === '' ? '–' : formatTime(createdAt)],
    ['Expires', expiresAt === null ? 'never' : html`${formatTime(expiresAt)} (${formatRelative(expiresAt)})`],
    ['Scopes', scopes === null ? 'all' : scopes.join(' ')],
  ];
  if (strikes !== null && strikes > 0) {
    facts.push([
      'Strikes',
      `${formatNumber(strikes)}${strikesToBan === null ? '' : ` of ${formatNumber(strikesToBan)} that lead to a ban`}`,
    ]);
  }
  if (replaces !== null) facts.push(['Replaces', html`<a href=${keyPath(replaces)}>${replaces}</a>`]);
  if (replacedBy !== null)
    facts.push(['Replaced by', html`<a href=${keyPath(replacedBy)}>${replacedBy}</a>`]);
  return factList(facts);
}

/** Who uses the key. */
function renderUse({ use }: KeyDetail) {
  if (use === null) return nothing;
  return html`<h2>Used by</h2>
    <p>
      ${formatNumber(use.served)} served and ${formatNumber(use.refused)} refused with this key. The latest
      addresses, some seconds old:
    </p>
    ${table({
      label: 'Used by',
      region: 'wide',
      headings: ['Address', 'First', 'Last', numeric('Requests'), 'Program', 'Gateway'],
      rows: use.addresses.map(
        ({ address, from, to, requests, agent, gateway }) =>
          html`<tr>
            <th scope="row">${address}</th>
            <td>${formatTime(from)}</td>
            <td>${formatTime(to)}</td>
            <td class="number">${formatNumber(requests)}</td>
            <td>${agent}</td>
            <td>${gateway}</td>
          </tr>`,
      ),
    })}`;
}

/** Who goes on with the key after its end. */
function renderRefusedUse({ refusedUse, state }: KeyDetail) {
  if (refusedUse.length === 0) return nothing;
  return html`<h2>Used after its end</h2>
    <p>
      ${state === 'valid' ? 'Before it was valid again, these' : 'These'} addresses sent requests with this
      key, which were refused: the ${refusedUse.length === 1 ? 'latest one' : `latest ${refusedUse.length}`}.
      <a href="/console/addresses">Block an address</a>
    </p>
    ${table({
      label: 'Used after its end',
      region: 'wide',
      headings: ['Address', 'First', 'Last', numeric('Requests')],
      rows: refusedUse.map(
        ({ address, from, to, requests }) =>
          html`<tr>
            <th scope="row">${address}</th>
            <td>${formatTime(from)}</td>
            <td>${formatTime(to)}</td>
            <td class="number">${formatNumber(requests)}</td>
          </tr>`,
      ),
    })}`;
}

function renderMeters(key: KeyDetail) {
  return key.windows === null || key.limits === null
    ? nothing
    : html`<h2>Use now</h2>
        ${limitMeters({ ...key, windows: key.windows, limits: key.limits })}`;
}

customElements.define('page-key', PageKey);
