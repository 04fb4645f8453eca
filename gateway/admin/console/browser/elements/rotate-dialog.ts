import { html } from 'lit';
import { api } from '../api.ts';
import type { FormTexts } from '../form-text.ts';
import type { IssuedKey } from '../responses.ts';
import { url } from '../url.ts';
import { choice } from './fields.ts';
import { NewKeyDialog } from './new-key-dialog.ts';

const graces: [seconds: number, label: string][] = [
  [0, 'Ends now'],
  [3600, 'Works for another hour'],
  [86_400, 'Works for another day'],
  [7 * 86_400, 'Works for another week'],
  [30 * 86_400, 'Works for another 30 days'],
];
const defaultGrace = '86400';

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
        A new key takes over the name, scopes and expiry. Plan, limits and what is used of them are the
        customer's.
      </p>
      ${choice('The old key', 'grace', graces, { value: defaultGrace, autofocus: true })}`;
  }
}

customElements.define('rotate-dialog', RotateDialog);
