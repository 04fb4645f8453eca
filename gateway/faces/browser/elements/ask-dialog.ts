import { html, nothing } from 'lit';
import { changeReason } from '../request.ts';
import { field, formTexts, textsOf, type FormTexts } from './fields.ts';
import { ActingElement, LightElement } from './light-element.ts';
import { inlineFailure } from './notice.ts';

/** A text to copy, such as a new API key. */
class CopyField extends LightElement {
  static override properties = { text: {}, label: {}, once: { type: Boolean } };

  text = '';
  label = '';
  /** Whether the text is shown this once. */
  once = false;
  /** What came of copying it. */
  said = '';

  constructor() {
    super();
    // A browser asks before it leaves a page that prevents this event.
    const keepTab = (event: Event) => this.once && event.preventDefault();
    this.whileConnected((signal) => addEventListener('beforeunload', keepTab, { signal }));
  }

  override firstUpdated() {
    if (this.once) this.querySelector('button')?.focus();
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.text);
      this.said = 'Copied.';
      setTimeout(() => (this.said = ''), 2000);
    } catch {
      // Not permitted outside a secure context, such as on another host without TLS.
      this.said = 'The browser does not permit that: copy the selected text.';
      this.querySelector('input')?.select();
    }
  }

  override render() {
    return html`<div class="copy-field row">
        <input readonly aria-label=${this.label} .value=${this.text} />
        <button type="button" class="primary" @click=${this.copy}>Copy</button>
      </div>
      <p class="quiet" role="status">${this.said}</p>`;
  }
}

customElements.define('copy-field', CopyField);

/** What a change has made and nobody can read again, such as an API key. */
export interface Secret {
  /** In a sentence, and as a label. */
  noun: string;
  label: string;
  text: string;
  about: unknown;
  warnings: string[];
  /** Called when it is stored elsewhere. */
  stored?: () => unknown;
}

/**
 * Asks before a change, and for what it needs. It stays with the error if the change fails. A secret is shown this once, so
 * the dialog does not close before it is confirmed.
 */
class AskDialog extends ActingElement {
  heading = '';
  action = '';
  danger = false;
  /** Whether the form asks for a reason for the audit log. */
  asksReason = true;
  /** What the change does, and fields for what it needs, from what is in them already. */
  message: (form: FormTexts) => unknown = () => nothing;
  /** Makes the change. @param initial what was in the fields when it was asked. @returns a secret to show, or else the dialog is closed */
  run: (form: FormTexts, initial: FormTexts) => Promise<Secret | void> = () => Promise.resolve();
  secret: Secret | undefined;
  form: FormTexts = () => '';
  initial = this.form;

  get dialog() {
    return this.querySelector('dialog');
  }

  override firstUpdated() {
    this.dialog?.showModal();
    const form = this.querySelector('form');
    if (form !== null) this.form = this.initial = textsOf(form);
  }

  close() {
    this.dialog?.close();
  }

  /** Neither a secret may be lost, nor a change under way. Chromium closes with the second Escape whatever `cancel` says. */
  hold(event: Event) {
    const isClosing = !(event instanceof KeyboardEvent) || event.key === 'Escape';
    if (isClosing && (this.busy || this.secret)) event.preventDefault();
  }

  submit(event: SubmitEvent) {
    const form = formTexts(event);
    changeReason.text = form('change-reason');
    void this.act(async () => {
      this.secret = (await this.run(form, this.initial)) ?? undefined;
      if (this.secret === undefined) this.close();
    }).finally(() => (changeReason.text = ''));
  }

  stored() {
    this.close();
    this.secret?.stored?.();
  }

  override render() {
    return html`<dialog
      aria-label=${this.heading}
      @keydown=${this.hold}
      @cancel=${this.hold}
      @close=${() => this.remove()}
    >
      <h2>${this.heading}</h2>
      ${this.secret === undefined ? this.formView() : this.secretView(this.secret)}
    </dialog>`;
  }

  formView() {
    return html`<form
      class="stack"
      @input=${(event: Event) => (this.form = formTexts(event))}
      @submit=${this.submit}
    >
      ${this.message(this.form)}
      ${
        this.asksReason
          ? field(html`Reason <span class="quiet">(ticket; for the audit log)</span>`, 'change-reason')
          : nothing
      }
      ${inlineFailure(this.failure)}
      <div class="actions">
        <button type="button" class="plain" ?disabled=${this.busy} @click=${this.close}>Cancel</button>
        <button class=${this.danger ? 'danger' : 'primary'} ?disabled=${this.busy}>
          ${this.busy ? 'Working…' : this.action}
        </button>
      </div>
    </form>`;
  }

  secretView({ noun, label, text, about, warnings }: Secret) {
    return html`<div class="stack">
      <p>${about}</p>
      <copy-field once label=${label} .text=${text}></copy-field>
      <p class="quiet">Closing this loses the ${noun}: copy it, and confirm that you have stored it.</p>
      ${warnings.map((warning) => html`<p class="caution">${warning}</p>`)}
      <div class="actions">
        <button type="button" @click=${this.stored}>I have stored it</button>
      </div>
    </div>`;
  }
}

customElements.define('ask-dialog', AskDialog);

export type Question = Pick<AskDialog, 'heading'> & Partial<AskDialog>;

/** Asks in a dialog before a change, or shows its secret. The dialog closes with the element. */
export function ask(host: LightElement, question: Question) {
  const dialog = Object.assign(new AskDialog(), question);
  document.body.append(dialog);
  host.whileConnected((signal) => signal.addEventListener('abort', () => dialog.close()));
}
