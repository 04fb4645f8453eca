import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formText } from '../form-text.ts';
import { keyTitle } from '../key.ts';
import type { ChangedKey, KeyDetail } from '../responses.ts';
import { url } from '../url.ts';
import { DialogElement } from './dialog-element.ts';
import { inlineFailure } from './page-state.ts';

export const banLengths: [seconds: number, label: string][] = [
  [900, '15 minutes'],
  [3600, '1 hour'],
  [86_400, '1 day'],
  [7 * 86_400, '1 week'],
  [30 * 86_400, '30 days'],
];

/** Bans a key, with a reason that its client reads. Dispatches `changed` with the key as it is then. */
export class BanDialog extends DialogElement {
  static override properties = {
    key: { attribute: false },
  };

  key: KeyDetail | undefined;

  async submit(event: SubmitEvent) {
    event.preventDefault();
    const { key } = this;
    if (key === undefined || !(event.target instanceof HTMLFormElement)) return;
    const form = new FormData(event.target);
    await this.act(async () => {
      const banned = await api.put<ChangedKey>(url`/api/keys/${key.id}/ban`, {
        seconds: Number(form.get('seconds')),
        reason: formText(form, 'reason'),
      });
      this.open = false;
      this.announce(`${keyTitle(banned)} is banned`, banned);
    });
  }

  override render() {
    if (!this.open || this.key === undefined) return nothing;
    return html`<wa-dialog label=${`Ban ${keyTitle(this.key)}`} open @wa-after-hide=${this.closed}>
      <form class="stack" @submit=${this.submit}>
        <p>From its next request on, the key gets 429 until the ban ends. It replaces any other ban.</p>
        <label
          >For
          <select name="seconds" autofocus>
            ${banLengths.map(([seconds, label]) => html`<option value=${seconds}>${label}</option>`)}
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
