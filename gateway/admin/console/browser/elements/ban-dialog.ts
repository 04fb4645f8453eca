import type { Key } from '../key.ts';
import 'webawesome/components/dialog/dialog.js';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formText } from '../form-text.ts';
import { keyTitle } from '../key.ts';
import { LightElement } from './light-element.ts';
import { notify } from './notice.ts';
import { inlineFailure } from './page-state.ts';

const lengths: [seconds: number, label: string][] = [
  [900, '15 minutes'],
  [3600, '1 hour'],
  [86_400, '1 day'],
  [7 * 86_400, '1 week'],
  [30 * 86_400, '30 days'],
];

/** Bans a key, with a reason that its client reads. Dispatches `changed` with the key as it is then. */
export class BanDialog extends LightElement {
  static override properties = {
    key: { attribute: false },
    open: { state: true },
    failure: { state: true },
    busy: { state: true },
  };

  key: Key | undefined;
  open = false;
  failure: unknown;
  busy = false;

  show() {
    this.failure = undefined;
    this.open = true;
  }

  async submit(event: SubmitEvent) {
    event.preventDefault();
    if (this.busy || this.key === undefined || !(event.target instanceof HTMLFormElement)) return;
    const form = new FormData(event.target);
    this.busy = true;
    this.failure = undefined;
    try {
      const key = await api.put(`/api/keys/${this.key.id}/ban`, {
        seconds: Number(form.get('seconds')),
        reason: formText(form, 'reason'),
      });
      this.open = false;
      this.dispatchEvent(new CustomEvent('changed', { detail: key }));
      notify(`${keyTitle(key)} is banned`, key.warnings);
    } catch (error) {
      this.failure = error;
    } finally {
      this.busy = false;
    }
  }

  override render() {
    if (!this.open || this.key === undefined) return nothing;
    return html`<wa-dialog
      label=${`Ban ${keyTitle(this.key)}`}
      open
      @wa-after-hide=${(event: Event) => {
        if (event.target === event.currentTarget) this.open = false;
      }}
    >
      <form class="stack" @submit=${this.submit}>
        <p>From its next request on, the key gets 429 until the ban ends. It replaces any other ban.</p>
        <label
          >For
          <select name="seconds" autofocus>
            ${lengths.map(([seconds, label]) => html`<option value=${seconds}>${label}</option>`)}
          </select></label
        >
        <label
          >Reason, which the client reads in its responses
          <input name="reason" required maxlength="100" autocomplete="off"
        /></label>
        ${inlineFailure(this.failure)}
        <div class="dialog-actions">
          <button type="button" class="wa-plain" @click=${() => (this.open = false)}>Cancel</button>
          <button type="submit" class="wa-danger" ?disabled=${this.busy}>
            ${this.busy ? 'Working…' : 'Ban the key'}
          </button>
        </div>
      </form>
    </wa-dialog>`;
  }
}

customElements.define('ban-dialog', BanDialog);
