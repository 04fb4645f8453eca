import './ban-dialog.ts';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formText } from '../form-text.ts';
import { pastedKey } from '../pasted-key.ts';
import { url } from '../url.ts';
import { BanDialog } from './ban-dialog.ts';
import { LightElement } from './light-element.ts';
import { inlineFailure } from './page-state.ts';

/** Finds the key that is to be banned, by its id or by the API key itself, and asks for how long and why. Fires `changed`. */
class BanKeyForm extends LightElement {
  static properties = { key: { state: true }, failure: { state: true }, busy: { state: true } };

  constructor() {
    super();
    /** @type {import('../key.ts').Key | undefined} */
    this.key = undefined;
    /** @type {unknown} */
    this.failure = undefined;
    this.busy = false;
  }

  /** @param {SubmitEvent} event */
  async submit(event) {
    event.preventDefault();
    if (this.busy || !(event.target instanceof HTMLFormElement)) return;
    const form = event.target;
    const text = formText(new FormData(form), 'key');
    const pasted = pastedKey(text);
    if (pasted !== undefined) form.reset();
    this.busy = true;
    this.failure = undefined;
    try {
      const id = pasted === undefined ? text : (await api.post('/api/keys/find', { text: pasted })).id;
      this.key = await api.get(url`/api/keys/${id}`);
      await this.updateComplete;
      const dialog = this.querySelector('ban-dialog');
      if (dialog instanceof BanDialog) dialog.show();
    } catch (error) {
      this.failure = error;
    } finally {
      this.busy = false;
    }
  }

  render() {
    return html`<form class="narrow" @submit=${this.submit}>
        <label
          >Id of the key, or the API key itself
          <input
            name="key"
            required
            maxlength="200"
            autocomplete="off"
            spellcheck="false"
            placeholder="key_…"
        /></label>
        <p class="hint">
          By name, find it under <a href="/console/customers">Customers</a> and ban it there.
        </p>
        ${inlineFailure(this.failure)}
        <div class="actions"><button ?disabled=${this.busy}>Ban…</button></div>
      </form>
      ${this.key === undefined ? nothing : html`<ban-dialog .key=${this.key} @changed=${() => this.dispatchEvent(new CustomEvent('changed'))}></ban-dialog>`}`;
  }
}

customElements.define('ban-key-form', BanKeyForm);
