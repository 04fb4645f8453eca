import 'webawesome/components/dialog/dialog.js';
import { html, nothing } from 'lit';
import { formTexts, type FormTexts } from '../form-text.ts';
import { ActingElement } from './acting-element.ts';
import { reasonField } from './fields.ts';
import type { LightElement } from './light-element.ts';
import { inlineFailure } from './page-state.ts';

/**
 * A dialog that makes a change. It is in the page while it is open, and stays with the error if the change fails. A subclass
 * has the content of its form, and what it calls.
 */
export abstract class DialogElement extends ActingElement {
  heading = '';
  action = 'OK';
  danger = false;
  /** Whether the form asks for a reason for the audit log. */
  asksReason = true;
  #opener = document.activeElement;

  /** @returns the content of the form */
  abstract fields(): unknown;
  abstract submit(form: FormTexts): Promise<unknown>;

  /** Whether the change can be made. */
  get isReady() {
    return true;
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    if (this.#opener instanceof HTMLElement) this.#opener.focus();
  }

  /** Called when the person types. */
  input(_event: Event) {}

  /** Called when the person closes the dialog. */
  hide(_event: Event) {}

  failureView(): unknown {
    return inlineFailure(this.failure);
  }

  override render() {
    return html`<wa-dialog
      label=${this.heading}
      open
      @wa-hide=${this.hide}
      @wa-after-hide=${(event: Event) => {
        // Fields in the dialog may fire the same event.
        if (event.target === event.currentTarget) this.remove();
      }}
    >
      ${this.content()}
    </wa-dialog>`;
  }

  content(): unknown {
    return html`<form
      class="stack"
      @input=${this.input}
      @submit=${(event: SubmitEvent) => {
        const form = formTexts(event);
        if (this.isReady) void this.act(() => this.submit(form));
      }}
    >
      ${this.fields()} ${this.asksReason ? reasonField() : nothing} ${this.failureView()}
      <div class="dialog-actions">
        <button type="button" class="wa-plain" ?disabled=${this.busy} @click=${this.remove}>Cancel</button>
        <button class=${this.danger ? 'wa-danger' : 'wa-brand'} ?disabled=${this.busy || !this.isReady}>
          ${this.busy ? 'Working…' : this.action}
        </button>
      </div>
    </form>`;
  }
}

/** Opens a dialog for an element. It closes with the element. */
export function openDialog<Dialog extends LightElement>(
  host: LightElement,
  Dialog: new () => Dialog,
  properties: Partial<Dialog> = {},
) {
  const dialog = Object.assign(new Dialog(), properties);
  document.body.append(dialog);
  host.whileConnected(() => () => dialog.remove());
}
