import { html } from 'lit';
import { api } from '../api.ts';
import { keyTitle } from '../key.ts';
import { url } from '../url.ts';
import { NewKeyDialog } from './new-key-dialog.ts';

/** @type {[seconds: number, label: string][]} */
const graces = [
  [0, 'Ends now'],
  [3600, 'Works for another hour'],
  [86_400, 'Works for another day'],
  [7 * 86_400, 'Works for another week'],
  [30 * 86_400, 'Works for another 30 days'],
];
const defaultGrace = 86_400;

/** Issues a key that replaces another one. */
export class RotateDialog extends NewKeyDialog {
  static properties = { ...NewKeyDialog.properties, of: { attribute: false } };

  constructor() {
    super();
    /** @type {{ id: string, name: string } | undefined} */
    this.of = undefined;
  }

  get heading() {
    return this.of === undefined ? '' : `Rotate the key of ${keyTitle(this.of)}`;
  }

  get action() {
    return 'Rotate the key';
  }

  /** @param {FormData} form */
  create(form) {
    return api.post(url`/api/keys/${this.of?.id ?? ''}/rotate`, { graceSeconds: Number(form.get('grace')) });
  }

  fields() {
    return html`<p>A new key takes over the name, plan, limits and expiry. Its counts start at 0.</p>
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
