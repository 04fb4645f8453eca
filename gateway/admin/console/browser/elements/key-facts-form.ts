import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formText } from '../form-text.ts';
import { localTime } from '../local-time.ts';
import type { ChangedKey, KeyDetail } from '../responses.ts';
import { formScopes, scopesField, scopesText } from '../scopes-field.ts';
import { url } from '../url.ts';
import { ActingElement } from './acting-element.ts';
import { inlineFailure } from './page-state.ts';

/** Name, expiry and scopes of a key. Dispatches `changed` with the key as it is then. */
export class KeyFactsForm extends ActingElement {
  static override properties = {
    key: { attribute: false },
    base: { state: true },
  };

  key: KeyDetail | undefined;
  /** The key as it was when it was first edited. */
  base: KeyDetail | undefined;

  async editExpiry() {
    await this.updateComplete;
    const input = this.querySelector('[name="expires"]');
    if (input instanceof HTMLElement) input.focus();
  }

  async submit(event: SubmitEvent) {
    event.preventDefault();
    const { base } = this;
    if (base === undefined || !(event.target instanceof HTMLFormElement)) return;
    const form = new FormData(event.target);
    const [name, expires] = [formText(form, 'name'), formText(form, 'expires')];
    const scopes = formScopes(form);
    await this.act(async () => {
      const key = await api.patch<ChangedKey>(url`/api/keys/${base.id}`, {
        rev: base.rev,
        ...(name === base.name ? {} : { name }),
        ...(expires === fieldValue(base.expiresAt)
          ? {}
          : { expiresAt: expires === '' ? null : new Date(expires).toISOString() }),
        ...(scopesText(scopes) === scopesText(base.scopes) ? {} : { scopes }),
      });
      this.base = undefined;
      this.announce('Name, expiry and scopes changed', key);
    });
  }

  reset() {
    const { key } = this;
    this.base = undefined;
    this.failure = undefined;
    const [name, expires, scopes] = ['name', 'expires', 'scopes'].map((field) =>
      this.querySelector(`[name="${field}"]`),
    );
    if (name instanceof HTMLInputElement) name.value = key?.name ?? '';
    if (expires instanceof HTMLInputElement) expires.value = fieldValue(key?.expiresAt ?? null);
    if (scopes instanceof HTMLInputElement) scopes.value = scopesText(key?.scopes ?? null);
  }

  override render() {
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
          <input name="expires" type="datetime-local" step="1" .value=${fieldValue(shown.expiresAt)}
        /></label>
        ${scopesField(shown.scopes)}
      </div>
      <p class="quiet">Without a time the key does not expire; without scopes it may call all operations.</p>
      ${inlineFailure(this.failure)}
      <div class="actions">
        <button class="wa-brand" ?disabled=${this.base === undefined || this.busy}>
          ${this.busy ? 'Working…' : 'Save name, expiry and scopes'}
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

const fieldValue = (iso: string | null) => localTime(iso ?? '', { seconds: true });

customElements.define('key-facts-form', KeyFactsForm);
