import { html, nothing, type PropertyDeclarations } from 'lit';
import { ApiFailure } from '../api.ts';
import { keyTitle } from '../key.ts';
import type { IssuedKey } from '../responses.ts';
import { CopyField } from './copy-field.ts';
import { DialogElement } from './dialog-element.ts';
import { inlineFailure, warningList } from './page-state.ts';
import { reasonField } from './reason-field.ts';

/** A browser asks before it closes a tab whose page prevents this event. */
const keepTab = (event: BeforeUnloadEvent) => event.preventDefault();

/**
 * A dialog that ends in a new API key. The key is shown this once, so the dialog does not close before it is confirmed.
 * A subclass has the form, and what it calls.
 */
export class NewKeyDialog extends DialogElement {
  static override properties: PropertyDeclarations = {
    issued: { state: true },
    reminded: { state: true },
    mayExist: { state: true },
  };

  issued: IssuedKey | undefined;
  /** Whether somebody tried to close the dialog without having confirmed. */
  reminded = false;
  /** Whether the last request had no response, so that nobody knows whether it made a key. */
  mayExist = false;

  override show() {
    this.issued = undefined;
    this.reminded = false;
    this.mayExist = false;
    super.show();
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener('beforeunload', keepTab);
  }

  get heading(): string {
    return '';
  }

  get action(): string {
    return '';
  }

  /** @returns the content of the form */
  fields(): unknown {
    return nothing;
  }

  create(_form: FormData): Promise<IssuedKey> {
    throw new Error('a subclass creates the key');
  }

  async submit(event: SubmitEvent) {
    event.preventDefault();
    const form = event.target;
    if (!(form instanceof HTMLFormElement)) return;
    const isMade = await this.act(async () => {
      this.issued = await this.create(new FormData(form));
      addEventListener('beforeunload', keepTab);
      await this.updateComplete;
      const field = this.querySelector('copy-field');
      if (field instanceof CopyField) await field.focusButton();
    });
    const { failure } = this;
    this.mayExist = !isMade && failure instanceof ApiFailure && failure.code === 'unreachable';
  }

  /** The key is stored elsewhere now. */
  close() {
    const { issued } = this;
    removeEventListener('beforeunload', keepTab);
    // Nothing of the page keeps it.
    this.issued = undefined;
    this.open = false;
    if (issued !== undefined) this.dispatchEvent(new CustomEvent('issued', { detail: { id: issued.id } }));
  }

  /** Escape and the cross must not lose a key, nor a request under way. */
  hide(event: Event) {
    if (event.target !== event.currentTarget) return;
    if (!this.busy && this.issued === undefined) return;
    event.preventDefault();
    this.reminded = this.issued !== undefined;
  }

  override render() {
    if (!this.open) return nothing;
    return html`<wa-dialog
      label=${this.issued === undefined ? this.heading : 'The new API key'}
      open
      @wa-hide=${this.hide}
      @wa-after-hide=${this.closed}
    >
      ${this.issued === undefined ? this.renderForm() : this.renderKey(this.issued)}
    </wa-dialog>`;
  }

  renderForm() {
    return html`<form class="stack" @submit=${this.submit}>
      ${this.fields()} ${reasonField()} ${inlineFailure(this.failure)}
      ${
        this.mayExist
          ? html`<p>A key may have been made all the same, which nobody has: look under Audit or Keys.</p>`
          : nothing
      }
      <div class="dialog-actions">
        <button type="button" class="wa-plain" ?disabled=${this.busy} @click=${() => (this.open = false)}>
          Cancel
        </button>
        <button type="submit" class="wa-brand" ?disabled=${this.busy}>
          ${this.busy ? 'Working…' : this.action}
        </button>
      </div>
    </form>`;
  }

  renderKey(issued: IssuedKey) {
    return html`<p>
        The key of <strong>${keyTitle(issued)}</strong> works now. <strong>It is not shown again</strong>:
        only its hash is stored. Copy it before you close this.
      </p>
      <copy-field label="API key" .text=${issued.key}></copy-field>
      ${
        this.reminded
          ? html`<p class="failure-text" role="alert">
              Closing this loses the key. Copy it, and confirm that you have stored it.
            </p>`
          : nothing
      }
      ${warningList(issued.warnings)}
      <div class="dialog-actions">
        <button type="button" @click=${this.close}>I have stored it</button>
      </div>`;
  }
}
