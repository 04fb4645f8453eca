import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formText } from '../form-text.ts';
import { url } from '../url.ts';
import { LightElement } from './light-element.ts';
import { notify } from './notice.ts';
import { inlineFailure } from './page-state.ts';

/** @typedef {import('../key.ts').Key} Key */

/** Name and expiry of a key. Dispatches `changed` with the key as it is then. */
export class KeyFactsForm extends LightElement {
  static properties = {
    key: { attribute: false },
    base: { state: true },
    failure: { state: true },
    busy: { state: true },
  };

  constructor() {
    super();
    /** @type {Key | undefined} */
    this.key = undefined;
    /** The key as it was when it was first edited. @type {Key | undefined} */
    this.base = undefined;
    /** @type {unknown} */
    this.failure = undefined;
    this.busy = false;
  }

  async editExpiry() {
    await this.updateComplete;
    const input = this.querySelector('[name="expires"]');
    if (input instanceof HTMLElement) input.focus();
  }

  /** @param {SubmitEvent} event */
  async submit(event) {
    event.preventDefault();
    const { base } = this;
    if (base === undefined || this.busy || !(event.target instanceof HTMLFormElement)) return;
    const form = new FormData(event.target);
    const [name, expires] = [formText(form, 'name'), formText(form, 'expires')];
    this.busy = true;
    this.failure = undefined;
    try {
      const key = await api.patch(url`/api/keys/${base.id}`, {
        rev: base.rev,
        ...(name === base.name ? {} : { name }),
        ...(expires === localTime(base.expiresAt)
          ? {}
          : { expiresAt: expires === '' ? null : new Date(expires).toISOString() }),
      });
      this.base = undefined;
      this.dispatchEvent(new CustomEvent('changed', { detail: key }));
      notify('Name and expiry changed', key.warnings);
    } catch (error) {
      this.failure = error;
    } finally {
      this.busy = false;
    }
  }

  reset() {
    const { key } = this;
    this.base = undefined;
    this.failure = undefined;
    const [name, expires] = ['name', 'expires'].map((field) => this.querySelector(`[name="${field}"]`));
    if (name instanceof HTMLInputElement) name.value = key?.name ?? '';
    if (expires instanceof HTMLInputElement) expires.value = localTime(key?.expiresAt ?? null);
  }

  render() {
    const shown = this.base ?? this.key;
    if (shown === undefined) return nothing;
    return html`<form
      class="stack"
      @submit=${this.submit}
      @input=${() => {
        this.base ??= this.key;
      }}
    >
      <div class="fields">
        <label>Name <input name="name" required maxlength="100" .value=${shown.name} /></label>
        <label
          >Expires (your time zone)
          <input name="expires" type="datetime-local" step="1" .value=${localTime(shown.expiresAt)}
        /></label>
      </div>
      <p class="quiet">Without a time the key does not expire.</p>
      ${inlineFailure(this.failure)}
      <div class="actions">
        <button class="wa-brand" ?disabled=${this.base === undefined || this.busy}>
          ${this.busy ? 'Working…' : 'Save name and expiry'}
        </button>
        ${
          this.base === undefined
            ? nothing
            : html`<button type="button" class="wa-plain" @click=${this.reset}>Cancel</button>`
        }
      </div>
    </form>`;
  }
}

/**
 * @param {string | null} iso
 * @returns {string} for a field of the type datetime-local, in the viewer's zone
 */
function localTime(iso) {
  if (iso === null) return '';
  const time = new Date(iso);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

customElements.define('key-facts-form', KeyFactsForm);
