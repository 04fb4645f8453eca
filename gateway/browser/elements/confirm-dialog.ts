import { html, nothing } from 'lit';
import { formTexts, type FormTexts } from '../form-text.ts';
import { DialogElement, openDialog } from './dialog-element.ts';
import { field } from './fields.ts';
import type { LightElement } from './light-element.ts';

/** Asks before a change, and for what it needs. */
class ConfirmDialog extends DialogElement {
  /** Text that has to be typed to confirm. Empty for none. */
  typed = '';
  /** What the change does, and fields for what it needs, from what is in them already. */
  message: (form: FormTexts) => unknown = () => nothing;
  /** Makes the change. The dialog is closed afterwards. */
  run: (form: FormTexts) => Promise<unknown> = () => Promise.resolve();
  form: FormTexts = () => '';

  override input(event: Event) {
    this.form = formTexts(event);
  }

  override get isReady() {
    return this.typed === '' || this.form('confirmation') === this.typed.trim();
  }

  override async submit(form: FormTexts) {
    await this.run(form);
    this.remove();
  }

  override fields() {
    return html`<div class="stack">${this.message(this.form)}</div>
      ${
        this.typed === ''
          ? nothing
          : field(html`Type <strong>${this.typed}</strong> to confirm`, 'confirmation', { autofocus: true })
      }`;
  }
}

customElements.define('confirm-dialog', ConfirmDialog);

/** Asks in a dialog before a change that cannot be taken back, that hits many, or that needs to know more. */
export const ask = (
  host: LightElement,
  question: Pick<ConfirmDialog, 'heading' | 'action' | 'message' | 'run'> &
    Partial<Pick<ConfirmDialog, 'danger' | 'typed' | 'asksReason'>>,
) => openDialog(host, ConfirmDialog, question);
