import { html } from 'lit';
import { api } from '../api.ts';
import { keyTitle } from '../key.ts';
import type { IssuedKey } from '../responses.ts';
import { url } from '../url.ts';
import { NewKeyDialog } from './new-key-dialog.ts';

const graces: [seconds: number, label: string][] = [
  [0, 'Ends now'],
  [3600, 'Works for another hour'],
  [86_400, 'Works for another day'],
  [7 * 86_400, 'Works for another week'],
  [30 * 86_400, 'Works for another 30 days'],
];
const defaultGrace = 86_400;

/** Issues a key that replaces another one. */
export class RotateDialog extends NewKeyDialog {
  static override properties = { of: { attribute: false } };

  of: { id: string; name: string } | undefined;

  override get heading() {
    return this.of === undefined ? '' : `Rotate the key of ${keyTitle(this.of)}`;
  }

  override get action() {
    return 'Rotate the key';
  }

  override create(form: FormData) {
    return api.post<IssuedKey>(url`/api/keys/${this.of?.id ?? ''}/rotate`, {
      graceSeconds: Number(form.get('grace')),
    });
  }

  override fields() {
    return html`<p>
        A new key takes over the name, scopes and expiry. Plan, limits and what is used of them are the
        customer's.
      </p>
      <label
        >The old key
        <select name="grace" autofocus>
          ${graces.map(
            ([seconds, label]) =>
              html`<option value=${seconds} ?selected=${seconds === defaultGrace}>${label}</option>`,
          )}
        </select></label
      >`;
  }
}

customElements.define('rotate-dialog', RotateDialog);
