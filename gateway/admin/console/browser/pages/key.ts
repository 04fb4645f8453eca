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
import { ActingElement } from '../elements/acting-element.ts';
import { showDialog } from '../elements/dialog-element.ts';
import { KeyFactsForm } from '../elements/key-facts-form.ts';
import { KeyHistory } from '../elements/key-history.ts';
import { KeyLimitsForm } from '../elements/key-limits-form.ts';
import { limitMeters } from '../elements/limit-meter.ts';
import { notify } from '../elements/notice.ts';
import { failureText, inlineFailure } from '../elements/page-state.ts';
import { numeric, table } from '../elements/table.ts';
import { formatNumber, formatRelative, formatTime } from '../format.ts';
import { fetchPlanNames } from '../key-search.ts';
import { keyPath, keyTitle } from '../key.ts';
import { limitsText } from '../plan-text.ts';
import { Refresher } from '../refresher.ts';
import type { ChangedKey, KeyDetail } from '../responses.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';

/** While the page is visible, the key is read again this long after the last time. */
const refreshMs = 2000;
const failedMs = 5000;

/** One API key: its state, what it uses, and everything that can be done about it. */
class PageKey extends ActingElement {
  static override properties = {
    item: {},
    key: { state: true },
    plans: { state: true },
  };

  /** Id of the key. */
  item = '';
  key: KeyDetail | undefined;
  plans: string[] = [];
  /** Changes made on this page. */
  changes = 0;
  refresher = new Refresher(
    this,
    () => this.read(),
    () => (this.refresher.failure === undefined ? refreshMs : failedMs),
  );

  constructor() {
    super();
    void fetchPlanNames().then((plans) => (this.plans = plans));
  }

  get path() {
    return url`/api/keys/${this.item}`;
  }

  /** Reads the key. What a change has overtaken is dropped. */
  async read() {
    const { changes } = this;
    const key = await api.get<KeyDetail>(this.path);
    if (changes !== this.changes) return;
    this.key = key;
    document.title = document.title.replace(/^.*? – /, `${keyTitle(key)} – `);
  }

  /** @param key after a change */
  changed(key: KeyDetail) {
    this.changes += 1;
    this.key = key;
    this.failure = undefined;
    const history = this.querySelector('key-history');
    if (history instanceof KeyHistory) void history.load();
  }

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

  async lift() {
    await this.act(async () => {
      const key = await api.delete<ChangedKey>(`${this.path}/ban`);
      this.changed(key);
      notify(`The ban of ${keyTitle(key)} is lifted`, key.warnings);
    });
  }

  async resetDay() {
    await this.act(async () => {
      const key = await api.delete<ChangedKey>(`${this.path}/day`);
      this.changed(key);
      notify(`The day of ${keyTitle(key)} counts from 0 again`, key.warnings);
    });
  }

  async endTemporary() {
    await this.act(async () => {
      const key = await api.patch<ChangedKey>(this.path, { rev: this.key?.rev, temporary: null });
      this.changed(key);
      notify('The temporary limits have ended', key.warnings);
    });
  }

  async revoke() {
    const key = await api.post<ChangedKey>(`${this.path}/revoke`);
    this.changed(key);
    notify('The key is revoked: its requests are refused from now on', key.warnings);
  }

  override render() {
    const { key } = this;
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
      ${this.refresher.failure === undefined ? nothing : html`<p class="failure-text" role="alert">Not up to date: ${failureText(this.refresher.failure)}</p>`}
      ${session.isOperator ? nothing : html`<p class="quiet">You have a viewer's link: you can look, and change nothing.</p>`}
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

  onChanged({ detail }: CustomEvent<KeyDetail>) {
    this.changed(detail);
  }

  renderTemporary({ temporary }: KeyDetail) {
    if (temporary === null) return nothing;
    return html`<p>
      Until ${formatTime(temporary.until)}: ${limitsText(temporary)}.
      <button type="button" @click=${this.endTemporary}>End them now</button>
    </p>`;
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
                <button
                  type="button"
                  ?disabled=${(key.windows?.day.used ?? 0) === 0}
                  title="Its day limit counts from 0 again; the record of use keeps what was served"
                  @click=${this.resetDay}
                >
                  Set the day back
                </button>`
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
  return html`<dl class="key-facts">
    ${facts.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
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
