import { html } from 'lit';
import { api } from '../api.ts';
import { formText } from '../form-text.ts';
import { apiPath, keyTitle } from '../key.ts';
import type { IssuedKey } from '../responses.ts';
import { formScopes, scopesField } from '../scopes-field.ts';
import { NewKeyDialog } from './new-key-dialog.ts';

/** Issues a further key of a customer. */
export class FurtherKeyDialog extends NewKeyDialog {
  static override properties = { of: { attribute: false } };

  of: { id: string; name: string } | undefined;

  override get heading() {
    return this.of === undefined ? '' : `Add a key for ${keyTitle(this.of)}`;
  }

  override get action() {
    return 'Issue the key';
  }

  override create(form: FormData) {
    return api.post<IssuedKey>(`${apiPath(this.of?.id ?? '')}/keys`, {
      name: formText(form, 'name') || undefined,
      expiresAt: formText(form, 'expires') || null,
      scopes: formScopes(form),
    });
  }

  override fields() {
    return html`<label
        >Name of the key <input name="name" maxlength="100" placeholder=${this.of?.name ?? ''} autofocus
      /></label>
      <div class="fields">
        <label>Expires at the beginning of (UTC) <input name="expires" type="date" /></label>
        ${scopesField(null)}
      </div>
      <p class="quiet">It shares the customer's plan, limits and what is used of them.</p>`;
  }
}

customElements.define('further-key-dialog', FurtherKeyDialog);
