import { html, nothing } from 'lit';
import { DialogElement } from './dialog-element.ts';
import { inlineFailure } from './page-state.ts';
import { reasonField } from './reason-field.ts';

/**
 * Asks before a change that cannot be taken back, or that hits many. Stays open with the error if the change fails.
 *
 *     <confirm-dialog heading="Revoke Acme?" action="Revoke" danger .typed=${'Acme'} .run=${() => …}> text </confirm-dialog>
 *
 * `show()` opens it.
 */
export class ConfirmDialog extends DialogElement {
  static override properties = {
    heading: {},
    action: {},
    danger: { type: Boolean },
    typed: {},
    message: { attribute: false },
    run: { attribute: false },
    entered: { state: true },
  };

  heading = '';
  action = 'OK';
  danger = false;
  /** Text that has to be typed to confirm. Empty for none. */
  typed = '';
  /** What the change does, a text or a template. */
  message: unknown = nothing;
  /** Makes the change. */
  run: () => Promise<unknown> = () => Promise.resolve();
  entered = '';

  override show() {
    this.entered = '';
    super.show();
  }

  async submit(event: Event) {
    event.preventDefault();
    if (this.isConfirmed && (await this.act(() => this.run()))) this.open = false;
  }

  get isConfirmed() {
    return this.typed === '' || this.entered.trim() === this.typed.trim();
  }

  override render() {
    if (!this.open) return nothing;
    const form = `confirm-${this.action.toLowerCase().replaceAll(/\W+/g, '-')}`;
    return html`<wa-dialog label=${this.heading} open @wa-after-hide=${this.closed}>
      <form id=${form} @submit=${this.submit}>
        <div>${this.message}</div>
        ${
          this.typed === ''
            ? nothing
            : html`<label>
                Type <strong>${this.typed}</strong> to confirm
                <input
                  autofocus
                  autocomplete="off"
                  .value=${this.entered}
                  @input=${(event: InputEvent) => {
                    if (event.target instanceof HTMLInputElement) this.entered = event.target.value;
                  }}
                />
              </label>`
        }
        ${reasonField()} ${inlineFailure(this.failure)}
        <div class="dialog-actions">
          <button type="button" class="wa-plain" @click=${() => (this.open = false)}>Cancel</button>
          <button
            type="submit"
            class=${this.danger ? 'wa-danger' : 'wa-brand'}
            ?disabled=${this.busy || !this.isConfirmed}
          >
            ${this.busy ? 'Working…' : this.action}
          </button>
        </div>
      </form>
    </wa-dialog>`;
  }
}

customElements.define('confirm-dialog', ConfirmDialog);
