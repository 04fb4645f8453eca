import '../../browser/elements/copy-field.ts';
import { html, nothing } from 'lit';
import { ActingElement } from '../../browser/elements/acting-element.ts';
import { checkbox, field, graceField } from '../../browser/elements/fields.ts';
import { expiryDateField, keyWords } from '../../browser/elements/key-fields.ts';
import { inlineFailure, warningList } from '../../browser/elements/page-state.ts';
import { count, listTable, type Column } from '../../browser/elements/table.ts';
import { formTexts, type FormTexts } from '../../browser/form-text.ts';
import { formatTime, relativeOr } from '../../browser/format.ts';
import { url } from '../../browser/url.ts';
import { api, session } from './api.ts';
import type { Key, NewKey, WantedKey } from './responses.ts';

const states: Record<Key['state'], [label: string, tone: string]> = {
  valid: ['Works', 'good'],
  suspended: ['Suspended', 'bad'],
  banned: ['Banned', 'bad'],
  expired: ['Expired', 'caution'],
  revoked: ['Revoked', 'bad'],
};

type Form = { kind: 'create' } | { kind: 'rotate' | 'revoke'; key: Key };

/** API keys, and what can be done with them. */
class KeySection extends ActingElement {
  keys: Key[] = [];
  /** Whether anything can be changed. */
  isActive = true;
  /** The form that is open. */
  form: Form | undefined;
  /** Keys that are shown this once, newest first. */
  issued: NewKey[] = [];
  done = '';
  showsEnded = false;
  /** Button that has opened the form, which gets the focus back. */
  #opener: Element | null = null;

  async openForm(form: Form) {
    this.#opener = document.activeElement;
    this.form = form;
    this.failure = undefined;
    this.done = '';
    await this.focusOn('.key-form input, .key-form select, .key-form button[type=button]');
  }

  closeForm() {
    this.form = undefined;
    if (this.#opener instanceof HTMLElement && this.#opener.isConnected) this.#opener.focus();
    else this.querySelector('h2')?.focus();
  }

  closeOnEscape({ key }: KeyboardEvent) {
    if (key === 'Escape' && !this.busy) this.closeForm();
  }

  async focusOn(selector: string) {
    await this.updateComplete;
    this.querySelector<HTMLElement>(selector)?.focus();
  }

  async submit(event: SubmitEvent) {
    const texts = formTexts(event);
    const { form } = this;
    if (form === undefined) return;
    const isDone = await this.act(() => this.change(form, texts));
    if (!isDone && !this.hasConflict) return;
    if (!isDone && form.kind !== 'create') this.done = overtaken(form.key);
    this.form = undefined;
    this.dispatchEvent(new CustomEvent('changed'));
    await this.focusOn(this.issued.length === 0 ? 'h2' : '.new-key h3');
  }

  async change(form: Form, texts: FormTexts) {
    switch (form.kind) {
      case 'create':
        this.show(
          await api.post<NewKey>('/keys', {
            name: texts('name'),
            expiresAt: texts('expiresAt') || null,
            scopes:
              texts('all') === '' ? knownScopes().filter((scope) => texts(fieldOf(scope)) !== '') : null,
          } satisfies Required<WantedKey>),
        );
        return;
      case 'rotate':
        this.show(
          await api.post<NewKey>(url`/keys/${form.key.id}/rotate`, { graceSeconds: Number(texts('grace')) }),
        );
        return;
      case 'revoke':
        await api.post(url`/keys/${form.key.id}/revoke`);
        this.done = `The key ${form.key.name} is revoked: its next request is refused.`;
    }
  }

  /** Beside those that nobody may have stored yet. */
  show(issued: NewKey) {
    this.issued = [issued, ...this.issued];
  }

  /** Nothing of the page keeps the key. */
  forget({ id }: NewKey) {
    this.issued = this.issued.filter((issued) => issued.id !== id);
    this.querySelector('h2')?.focus();
  }

  override render() {
    const ended = this.keys.filter(hasEnded);
    const shown = this.showsEnded ? this.keys : this.keys.filter((key) => !hasEnded(key));
    return html`<h2 tabindex="-1">API keys</h2>
      <p role="status">${this.done}</p>
      ${this.issued.map((issued) => this.renderIssued(issued))}
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
    const columns = {
      name: ['Name', ({ id, name }) => name || id],
      hint: ['Key', ({ id, hint }) => html`<code>${hint || id}</code>`],
      state: ['State', stateCell],
      lastUsedAt: ['Last used', ({ lastUsedAt }) => relativeOr(lastUsedAt, 'never')],
      servedToday: count('Served today', ({ servedToday }) => servedToday),
      refusedToday: count('Refused today', ({ refusedToday }) => refusedToday),
      scopes: ['Scopes', ({ scopes }) => scopes?.join(' ') ?? 'all'],
      expiresAt: ['Expires', ({ expiresAt }) => relativeOr(expiresAt, 'never')],
      actions: ['Actions', (key) => (this.isActive && !hasEnded(key) ? this.renderActions(key) : nothing)],
    } satisfies Record<keyof WantedKey, Column<Key>> & Record<string, Column<Key>>;
    return listTable('API keys', keys, Object.values(columns));
  }

  renderActions(key: Key) {
    const open = (kind: 'rotate' | 'revoke', text: string) =>
      html`<button
        type="button"
        aria-label=${`${text} ${key.name} ${key.hint}`}
        @click=${() => this.openForm({ kind, key })}
      >
        ${text}…
      </button>`;
    return html`<div class="actions">
      ${key.replacedBy !== null ? nothing : open('rotate', 'Rotate')} ${open('revoke', 'Revoke')}
    </div>`;
  }

  renderForm(form: Form) {
    const { heading, fields, action } = formOf(form);
    return html`<section class="panel key-form" aria-label=${heading}>
      <h3>${heading}</h3>
      <form class="stack" @submit=${this.submit} @keydown=${this.closeOnEscape}>
        ${fields} ${inlineFailure(this.failure)}
        <div class="actions">
          <button class=${form.kind === 'revoke' ? 'wa-danger' : 'wa-brand'} ?disabled=${this.busy}>
            ${this.busy ? 'Working…' : action}
          </button>
          <button type="button" ?disabled=${this.busy} @click=${this.closeForm}>Cancel</button>
        </div>
      </form>
    </section>`;
  }

  renderIssued(issued: NewKey) {
    return html`<section class="panel new-key" aria-label="The new API key">
      <h3 tabindex="-1">The new API key of ${issued.name}</h3>
      <p><strong>It is not shown again.</strong> Copy it, and store it where your program finds it.</p>
      <copy-field once label="New API key" .text=${issued.key}></copy-field>
      ${warningList(issued.warnings)}
      <div class="actions">
        <button type="button" class="wa-brand" @click=${() => this.forget(issued)}>I have stored it</button>
      </div>
    </section>`;
  }
}

const overtaken = ({ name }: Key) =>
  `The key ${name} was replaced or has ended in the meantime, perhaps in another tab: the list shows how it is now. If nobody has the key that replaced it, rotate that one, and choose “Ends now”.`;

const hasEnded = ({ state }: Key) => state === 'revoked' || state === 'expired';

function stateCell(key: Key) {
  const { state, bannedUntil, replacedBy } = key;
  const [label, tone] = states[state];
  return html`<span class="tag ${tone}">${label}</span>
    ${replacedBy === null || hasEnded(key) ? nothing : 'replaced'}
    ${state === 'banned' && bannedUntil !== null ? html`until ${formatTime(bannedUntil)}` : nothing}`;
}

function formOf(form: Form) {
  switch (form.kind) {
    case 'create':
      return { heading: 'Create a key', action: 'Create the key', fields: createFields() };
    case 'rotate':
      return {
        heading: `Rotate ${form.key.name}`,
        action: 'Create the new key',
        fields: html`<p>A new key takes over the ${keyWords}.</p>
          ${graceField()}`,
      };
    case 'revoke':
      return {
        heading: `Revoke ${form.key.name}?`,
        action: 'Revoke the key',
        fields: html`<p>
          Requests with <code>${form.key.hint || form.key.id}</code> are refused from the next one on, for
          good. ${form.key.replacedBy === null ? nothing : 'Another key has replaced it.'}
        </p>`,
      };
  }
}

const knownScopes = () => session.current?.scopes ?? [];
/** Name of the box of a scope. */
const fieldOf = (scope: string) => `scope ${scope}`;

function createFields() {
  const scopes = knownScopes();
  return html`${field('Name', 'name', { required: true })} ${expiryDateField()}
  ${
    scopes.length === 0
      ? html`<input type="hidden" name="all" value="on" />`
      : html`<fieldset @change=${keepApart}>
          <legend>What it may do</legend>
          ${checkbox('Everything', 'all', { checked: true })}
          <p class="quiet">Or only:</p>
          ${scopes.map((scope) => checkbox(scope, fieldOf(scope)))}
        </fieldset>`
  }`;
}

/** Everything ends the choice of scopes, and a scope ends everything: a key must not do more than was chosen last. */
function keepApart({ target, currentTarget }: Event) {
  if (!(target instanceof HTMLInputElement) || !(currentTarget instanceof HTMLFieldSetElement)) return;
  const boxes = Array.from(currentTarget.querySelectorAll('input'));
  if (target.checked) {
    for (const box of boxes) if ((box.name === 'all') !== (target.name === 'all')) box.checked = false;
  }
  const isNone = boxes.every(({ checked }) => !checked);
  boxes[0]?.setCustomValidity(isNone ? 'Choose what the key may do.' : '');
}

customElements.define('key-section', KeySection);
