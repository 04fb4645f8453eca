import { html } from 'lit';
import { graceField } from '../../../../browser/elements/fields.ts';
import { keyWords } from '../../../../browser/elements/key-fields.ts';
import type { FormTexts } from '../../../../browser/form-text.ts';
import { url } from '../../../../browser/url.ts';
import { api } from '../api.ts';
import type { IssuedKey } from '../responses.ts';
import { NewKeyDialog } from './new-key-dialog.ts';

/** Issues a key that replaces another one. */
export class RotateDialog extends NewKeyDialog {
  override action = 'Rotate the key';
  of = { id: '' };

  override create(form: FormTexts) {
    const body = { graceSeconds: Number(form('grace')) };
    return api.post<IssuedKey>(url`/api/keys/${this.of.id}/rotate`, body);
  }

  override fields() {
    return html`<p>
        A new key takes over the ${keyWords}. Plan, limits and what is used of them are the customer's.
      </p>
      ${graceField({ autofocus: true })}`;
  }
}

customElements.define('rotate-dialog', RotateDialog);
