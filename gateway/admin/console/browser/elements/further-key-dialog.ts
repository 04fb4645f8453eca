import { html } from 'lit';
import { field } from '../../../../browser/elements/fields.ts';
import { formKeyFields, keyFields } from '../../../../browser/elements/key-fields.ts';
import type { FormTexts } from '../../../../browser/form-text.ts';
import { api } from '../api.ts';
import { apiPath } from '../key.ts';
import type { IssuedKey } from '../responses.ts';
import { NewKeyDialog } from './new-key-dialog.ts';

/** Issues a further key of a customer. */
export class FurtherKeyDialog extends NewKeyDialog {
  override action = 'Issue the key';
  of = { id: '', name: '' };

  override create(form: FormTexts) {
    return api.post<IssuedKey>(`${apiPath(this.of.id)}/keys`, {
      name: form('name') || undefined,
      ...formKeyFields(form),
    });
  }

  override fields() {
    return html`${field('Name of the key', 'name', { placeholder: this.of.name, autofocus: true })}
      <div class="fields">${keyFields()}</div>
      <p class="quiet">It shares the customer's plan, limits and what is used of them.</p>`;
  }
}

customElements.define('further-key-dialog', FurtherKeyDialog);
