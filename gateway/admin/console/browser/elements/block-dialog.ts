import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { formText } from '../form-text.ts';
import type { BlockView, Changed } from '../responses.ts';
import { banLengths } from './ban-dialog.ts';
import { DialogElement } from './dialog-element.ts';
import { inlineFailure } from './page-state.ts';

/** Blocks an address or network. Dispatches `changed` with the block. */
export class BlockDialog extends DialogElement {
  static override properties = {
    network: {},
  };

  /** What the field begins with. */
  network = '';

  async submit(event: SubmitEvent) {
    event.preventDefault();
    if (!(event.target instanceof HTMLFormElement)) return;
    const form = new FormData(event.target);
    await this.act(async () => {
      const block = await api.post<Changed<BlockView>>('/api/addresses/block', {
        network: formText(form, 'network'),
        seconds: Number(form.get('seconds')),
        reason: formText(form, 'reason'),
      });
      this.open = false;
      this.announce(`${block.network} is blocked`, block);
    });
  }

  override render() {
    if (!this.open) return nothing;
    return html`<wa-dialog label="Block an address or network" open @wa-after-hide=${this.closed}>
      <form class="stack" @submit=${this.submit}>
        <p>
          Within a second, all its requests get 429 until the block ends, also those with a valid key: look
          for customers in it first.
        </p>
        <label
          >Address or network
          <input
            name="network"
            required
            maxlength="100"
            autocomplete="off"
            spellcheck="false"
            placeholder="203.0.113.0/24"
            .value=${this.network}
            autofocus
        /></label>
        <label
          >For
          <select name="seconds">
            ${banLengths.map(([seconds, label]) => html`<option value=${seconds}>${label}</option>`)}
          </select></label
        >
        <label
          >Reason, for operators <input name="reason" required maxlength="100" autocomplete="off"
        /></label>
        ${inlineFailure(this.failure)}
        <div class="dialog-actions">
          <button type="button" class="wa-plain" @click=${() => (this.open = false)}>Cancel</button>
          <button type="submit" class="wa-danger" ?disabled=${this.busy}>
            ${this.busy ? 'Working…' : 'Block'}
          </button>
        </div>
      </form>
    </wa-dialog>`;
  }
}

customElements.define('block-dialog', BlockDialog);
