import '../../admin/console/browser/elements/copy-field.ts';
import { html, nothing } from 'lit';
import { LightElement } from '../../admin/console/browser/elements/light-element.ts';
import { failureText } from '../../admin/console/browser/elements/page-state.ts';
import { table } from '../../admin/console/browser/elements/table.ts';
import { formatRelative } from '../../admin/console/browser/format.ts';
import { url } from '../../admin/console/browser/url.ts';
import { keepKey } from '../../docs/browser/api-key.ts';
import { api, session } from './api.ts';
import type { Key, NewKey } from './responses.ts';

const states: Record<Key['state'], [label: string, tone: string]> = {
  valid: ['Works', 'good'],
  suspended: ['Suspended', 'bad'],
  banned: ['Banned', 'bad'],
  expired: ['Expired', 'caution'],
  revoked: ['Revoked', 'bad'],
  unusable: ['Does not work', 'bad'],
};

const graces: [seconds: number, label: string][] = [
  [0, 'ends now'],
  [3600, 'works for another hour'],
  [86_400, 'works for another day'],
  [7 * 86_400, 'works for another week'],
  [30 * 86_400, 'works for another 30 days'],
];
const defaultGrace = 86_400;

type Form = { kind: 'create' } | { kind: 'rotate' | 'revoke'; key: Key };

/** API keys, and what can be done with them. */
class KeySection extends LightElement {
  static override properties = {
    keys: { attribute: false },
    isActive: { attribute: false },
    form: { state: true },
    isBusy: { state: true },
    failure: { state: true },
    issued: { state: true },
    done: { state: true },
    showsEnded: { state: true },
  };

  keys: Key[] = [];
  /** Whether anything can be changed. */
  isActive = true;
  /** The form that is open. */
  form: Form | undefined;
  isBusy = false;
  failure: unknown;
  /** A key that is shown this once. */
  issued: NewKey | undefined;
  done = '';
  showsEnded = false;
  /** Button that has opened the form, which gets the focus back. */
  opener: Element | null = null;

  async openForm(form: Form) {
    this.opener = document.activeElement;
    this.form = form;
    this.failure = undefined;
    this.done = '';
    await this.updateComplete;
    const field = this.querySelector('.key-form input, .key-form select, .key-form button');
    if (field instanceof HTMLElement) field.focus();
  }

  closeForm() {
    this.form = undefined;
    if (this.opener instanceof HTMLElement && this.opener.isConnected) this.opener.focus();
    else this.querySelector('h2')?.focus();
  }

  async submit(event: SubmitEvent) {
    event.preventDefault();
    const { target } = event;
    const { form } = this;
    if (!(target instanceof HTMLFormElement) || form === undefined || this.isBusy) return;
    const fields = new FormData(target);
    this.isBusy = true;
    this.failure = undefined;
    try {
      await this.change(form, fields);
      this.form = undefined;
      this.dispatchEvent(new CustomEvent('changed'));
    } catch (error) {
      this.failure = error;
    } finally {
      this.isBusy = false;
    }
    if (this.failure === undefined) await this.focusResult();
  }

  async focusResult() {
    await this.updateComplete;
    const shown = this.querySelector(this.issued === undefined ? 'h2' : '.new-key h3');
    if (shown instanceof HTMLElement) shown.focus();
  }

  async change(form: Form, fields: FormData) {
    switch (form.kind) {
      case 'create':
        this.issued = await api.post<NewKey>('/keys', {
          name: fields.get('name'),
          expiresAt: fields.get('expires') || null,
          scopes: fields.get('all') === null ? fields.getAll('scope') : null,
        });
        return;
      case 'rotate':
        this.issued = await api.post<NewKey>(url`/keys/${form.key.id}/rotate`, {
          graceSeconds: Number(fields.get('grace')),
        });
        return;
      case 'revoke':
        await api.post(url`/keys/${form.key.id}/revoke`);
        this.done = `The key ${form.key.name} is revoked: its next request is refused.`;
    }
  }

  /** Nothing of the page keeps the key. */
  forget() {
    this.issued = undefined;
    this.querySelector('h2')?.focus();
  }

  useForRequests({ key }: NewKey) {
    keepKey(key);
    document.querySelector<HTMLElement>('try-request select')?.focus();
  }

  override render() {
    const ended = this.keys.filter(hasEnded);
    const shown = this.showsEnded ? this.keys : this.keys.filter((key) => !hasEnded(key));
    return html`<h2 tabindex="-1">API keys</h2>
      <p role="status">${this.done}</p>
      ${this.issued === undefined ? nothing : this.renderIssued(this.issued)}
      ${this.form === undefined ? nothing : this.renderForm(this.form)}
      ${shown.length === 0 ? html`<p class="quiet">There is none that works.</p>` : this.renderTable(shown)}
      <div class="actions">
        ${
          this.isActive
            ? html`<button type="button" class="wa-brand" @click=${() => this.openForm({ kind: 'create' })}>
                Create a key…
              </button>`
            : nothing
        }
        ${
          ended.length === 0
            ? nothing
            : html`<button
                type="button"
                aria-pressed=${this.showsEnded ? 'true' : 'false'}
                @click=${() => (this.showsEnded = !this.showsEnded)}
              >
                Show ended keys (${ended.length})
              </button>`
        }
      </div>`;
  }

  renderTable(keys: Key[]) {
    return table({
      label: 'API keys',
      region: 'wide',
      headings: ['Name', 'Key', 'State', 'Last used', 'Scopes', 'Expires', 'Actions'],
      rows: keys.map((key) => {
        const [label, tone] = states[key.state];
        return html`<tr>
          <th scope="row">${key.name === '' ? key.id : key.name}</th>
          <td><code>${key.hint === '' ? key.id : key.hint}</code></td>
          <td>
            <span class="tag ${tone}">${label}</span>
            ${key.bannedUntil === null ? nothing : html`until ${formatRelative(key.bannedUntil)}`}
          </td>
          <td>${key.lastUsedAt === null ? 'never' : formatRelative(key.lastUsedAt)}</td>
          <td>${key.scopes === null ? 'all' : key.scopes.join(' ')}</td>
          <td>${key.expiresAt === null ? 'never' : formatRelative(key.expiresAt)}</td>
          <td>${this.isActive && !hasEnded(key) ? this.renderActions(key) : nothing}</td>
        </tr>`;
      }),
    });
  }

  renderActions(key: Key) {
    const isReplaced = key.replacedBy !== null;
    return html`<div class="actions">
      ${
        isReplaced || key.state === 'unusable'
          ? nothing
          : html`<button
              type="button"
              aria-label=${`Rotate ${key.name}`}
              @click=${() => this.openForm({ kind: 'rotate', key })}
            >
              Rotate…
            </button>`
      }
      <button
        type="button"
        aria-label=${`Revoke ${key.name}`}
        @click=${() => this.openForm({ kind: 'revoke', key })}
      >
        Revoke…
      </button>
    </div>`;
  }

  renderForm(form: Form) {
    const { heading, fields, action } = formOf(form);
    return html`<section class="panel key-form" aria-label=${heading}>
      <h3>${heading}</h3>
      <form class="stack" @submit=${this.submit}>
        ${fields}
        <p class="failure-text" role="alert">
          ${this.failure === undefined ? nothing : failureText(this.failure)}
        </p>
        <div class="actions">
          <button class=${form.kind === 'revoke' ? 'wa-danger' : 'wa-brand'} ?disabled=${this.isBusy}>
            ${this.isBusy ? 'Working…' : action}
          </button>
          <button type="button" ?disabled=${this.isBusy} @click=${this.closeForm}>Cancel</button>
        </div>
      </form>
    </section>`;
  }

  renderIssued(issued: NewKey) {
    return html`<section class="panel new-key" aria-label="The new API key">
      <h3 tabindex="-1">The new API key of ${issued.name}</h3>
      <p><strong>It is not shown again.</strong> Copy it, and store it where your program finds it.</p>
      <copy-field label="New API key" .text=${issued.key}></copy-field>
      ${issued.warnings.map((warning) => html`<p class="warnings">${warning}</p>`)}
      <div class="actions">
        <button type="button" class="wa-brand" @click=${this.forget}>I have stored it</button>
        <button type="button" @click=${() => this.useForRequests(issued)}>Try a request with it</button>
      </div>
    </section>`;
  }
}

const hasEnded = ({ state }: Key) => state === 'revoked' || state === 'expired';

function formOf(form: Form) {
  switch (form.kind) {
    case 'create':
      return { heading: 'Create a key', action: 'Create the key', fields: createFields() };
    case 'rotate':
      return {
        heading: `Rotate ${form.key.name}`,
        action: 'Create the new key',
        fields: html`<p>A new key takes over the name, scopes and expiry.</p>
          <label
            >The old key
            <select name="grace">
              ${graces.map(
                ([seconds, label]) =>
                  html`<option value=${seconds} ?selected=${seconds === defaultGrace}>${label}</option>`,
              )}
            </select></label
          >`,
      };
    case 'revoke':
      return {
        heading: `Revoke ${form.key.name}?`,
        action: 'Revoke the key',
        fields: html`<p>Requests with it are refused from the next one on, for good.</p>`,
      };
  }
}

function createFields() {
  const { scopes = [] } = session.current ?? {};
  return html`<label>Name <input name="name" required maxlength="100" autocomplete="off" /></label>
    <label>Expires at the beginning of (UTC) <input name="expires" type="date" /></label>
    ${
      scopes.length === 0
        ? html`<input type="hidden" name="all" value="on" />`
        : html`<fieldset>
            <legend>What it may do</legend>
            <label class="check"><input type="checkbox" name="all" checked /> Everything</label>
            <p class="quiet">Without that, only:</p>
            ${scopes.map(
              (scope) =>
                html`<label class="check"
                  ><input type="checkbox" name="scope" value=${scope} /> ${scope}</label
                >`,
            )}
          </fieldset>`
    }`;
}

customElements.define('key-section', KeySection);
