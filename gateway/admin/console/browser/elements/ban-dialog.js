import 'webawesome/components/dialog/dialog.js';
import { html, nothing } from 'lit';
import { api } from '../api.js';
import { formText } from '../form-text.js';
import { looksLikeKey } from '../key-text.js';
import { LightElement } from './light-element.js';
import { notify } from './notice.js';
import { inlineFailure } from './page-state.js';

const units = [
  ['60', 'minutes'],
  ['3600', 'hours'],
  ['86400', 'days'],
];

/** Bans a key that is named by its id. Fires `changed` when it was banned. */
export class BanDialog extends LightElement {
  static properties = {
    open: { state: true },
    busy: { state: true },
    failure: { state: true },
    isKeyPasted: { state: true },
  };

  constructor() {
    super();
    this.open = false;
    this.busy = false;
    /** @type {unknown} */
    this.failure = undefined;
    this.isKeyPasted = false;
  }

  show() {
    this.isKeyPasted = false;
    this.failure = undefined;
    this.open = true;
  }

  /** @param {Event} event */
  hidden_(event) {
    if (event.target === event.currentTarget) this.open = false;
  }

  /** A pasted API key is taken out of the field at once. @param {Event} event */
  checkId({ target }) {
    if (!(target instanceof HTMLInputElement)) return;
    this.isKeyPasted = looksLikeKey(target.value);
    if (this.isKeyPasted) target.value = '';
  }

  /** @param {SubmitEvent} event */
  async submit(event) {
    event.preventDefault();
    if (this.busy || !(event.target instanceof HTMLFormElement)) return;
    const data = new FormData(event.target);
    const id = formText(data, 'id');
    const seconds = Number(data.get('length')) * Number(data.get('unit'));
    this.busy = true;
    this.failure = undefined;
    try {
      const { warnings } = await api.put(`/api/keys/${encodeURIComponent(id)}/ban`, {
        seconds,
        reason: formText(data, 'reason'),
      });
      this.open = false;
      notify(`The key ${id} is banned from its next request on.`, warnings);
      this.dispatchEvent(new CustomEvent('changed'));
    } catch (error) {
      this.failure = error;
    } finally {
      this.busy = false;
    }
  }

  render() {
    if (!this.open) return nothing;
    return html`<wa-dialog label="Ban a key" open @wa-after-hide=${this.hidden_}>
      <form @submit=${this.submit}>
        <label
          >Id of the key
          <input
            name="id"
            required
            autofocus
            autocomplete="off"
            spellcheck="false"
            placeholder="key_…"
            @input=${this.checkId}
        /></label>
        <p class="hint"><a href="/console/customers">Customers</a> have it, and a ban of their own.</p>
        ${this.isKeyPasted ? html`<p class="failure-text" role="alert">That is an API key itself. Find its id under Customers.</p>` : nothing}
        <div class="fields">
          <label>For <input name="length" type="number" min="1" max="3650" value="1" required /></label>
          <label
            >Unit
            <select name="unit">
              ${units.map(([seconds = '', unit]) => html`<option value=${seconds} ?selected=${unit === 'hours'}>${unit}</option>`)}
            </select>
          </label>
        </div>
        <label>Reason <input name="reason" required maxlength="100" autocomplete="off" /></label>
        <p class="hint">The client reads it in its responses.</p>
        ${inlineFailure(this.failure)}
        <div class="dialog-actions">
          <button type="button" class="wa-plain" @click=${() => (this.open = false)}>Cancel</button>
          <button class="wa-danger" ?disabled=${this.busy}>${this.busy ? 'Working…' : 'Ban the key'}</button>
        </div>
      </form>
    </wa-dialog>`;
  }
}

customElements.define('ban-dialog', BanDialog);
