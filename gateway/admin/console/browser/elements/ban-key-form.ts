import { html } from 'lit';
import { ActingElement } from '../../../../browser/elements/acting-element.ts';
import { field } from '../../../../browser/elements/fields.ts';
import { inlineFailure } from '../../../../browser/elements/page-state.ts';
import { formTexts } from '../../../../browser/form-text.ts';
import { url } from '../../../../browser/url.ts';
import { api } from '../api.ts';
import { pastedKey } from '../pasted-key.ts';
import type { KeyDetail } from '../responses.ts';
import { askToBan } from './ban-dialog.ts';

/** Finds the key that is to be banned, by its id or by the API key itself, and asks for how long and why. Fires `changed`. */
class BanKeyForm extends ActingElement {
  async submit(event: SubmitEvent) {
    const text = formTexts(event)('key');
    const pasted = pastedKey(text);
    if (pasted !== undefined) this.querySelector('form')?.reset();
    await this.act(async () => {
      const id =
        pasted === undefined ? text : (await api.post<{ id: string }>('/api/keys/find', { text: pasted })).id;
      const key = await api.get<KeyDetail>(url`/api/keys/${id}`);
      askToBan(this, key, () => this.dispatchEvent(new CustomEvent('changed')));
    });
  }

  override render() {
    return html`<form class="narrow" @submit=${this.submit}>
      ${field('Id of the key, or the API key itself', 'key', {
        required: true,
        maxlength: 200,
        placeholder: 'key_…',
      })}
      <p class="hint">By name, find it under <a href="/console/keys">Keys</a> and ban it there.</p>
      ${inlineFailure(this.failure)}
      <div class="actions"><button ?disabled=${this.busy}>Ban…</button></div>
    </form>`;
  }
}

customElements.define('ban-key-form', BanKeyForm);
