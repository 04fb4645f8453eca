import './ban-dialog.ts';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formText } from '../form-text.ts';
import { pastedKey } from '../pasted-key.ts';
import type { KeyDetail } from '../responses.ts';
import { url } from '../url.ts';
import { ActingElement } from './acting-element.ts';
import { showDialog } from './dialog-element.ts';
import { inlineFailure } from './page-state.ts';

/** Finds the key that is to be banned, by its id or by the API key itself, and asks for how long and why. Fires `changed`. */
class BanKeyForm extends ActingElement {
  static override properties = { key: { state: true } };

  key: KeyDetail | undefined;

  async submit(event: SubmitEvent) {
    event.preventDefault();
    if (this.busy || !(event.target instanceof HTMLFormElement)) return;
    const form = event.target;
    const text = formText(new FormData(form), 'key');
    const pasted = pastedKey(text);
    if (pasted !== undefined) form.reset();
    await this.act(async () => {
      const id =
        pasted === undefined ? text : (await api.post<{ id: string }>('/api/keys/find', { text: pasted })).id;
      this.key = await api.get<KeyDetail>(url`/api/keys/${id}`);
      await this.updateComplete;
      showDialog(this, 'ban-dialog');
    });
  }

  override render() {
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
        <p class="hint">By name, find it under <a href="/console/keys">Keys</a> and ban it there.</p>
        ${inlineFailure(this.failure)}
        <div class="actions"><button ?disabled=${this.busy}>Ban…</button></div>
      </form>
      ${this.key === undefined ? nothing : html`<ban-dialog .key=${this.key} @changed=${() => this.dispatchEvent(new CustomEvent('changed'))}></ban-dialog>`}`;
  }
}

customElements.define('ban-key-form', BanKeyForm);
