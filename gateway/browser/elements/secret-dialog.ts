import { html, nothing } from 'lit';
import { CopyField } from './copy-field.ts';
import { DialogElement } from './dialog-element.ts';
import { warningList } from './page-state.ts';

/**
 * A dialog that ends in a secret, such as a new API key. It is shown this once, so the dialog does not close before it is
 * confirmed. A subclass has the form, what it calls, and the secret.
 */
export abstract class SecretDialog extends DialogElement {
  /** Whether somebody tried to close the dialog without having confirmed. */
  reminded = false;

  /** What it is called in a sentence. */
  abstract readonly secretNoun: string;
  abstract readonly secretLabel: string;
  /** Undefined until there is one. */
  abstract get secret(): { text: string; warnings: string[] | undefined } | undefined;

  /** @returns what is said of the secret */
  abstract about(): unknown;

  /** Called when it is stored elsewhere. */
  stored() {
    this.remove();
  }

  /** Whether Escape and the cross do nothing. */
  get isHeld() {
    return this.secret !== undefined;
  }

  async focusSecret() {
    await this.updateComplete;
    const field = this.querySelector('copy-field');
    if (field instanceof CopyField) await field.focusButton();
  }

  override hide(event: Event) {
    if (event.target !== event.currentTarget || !this.isHeld) return;
    event.preventDefault();
    this.reminded = this.secret !== undefined;
  }

  override content() {
    const { secret } = this;
    if (secret === undefined) return super.content();
    return html`${this.about()}
      <copy-field once label=${this.secretLabel} .text=${secret.text}></copy-field>
      ${
        this.reminded
          ? html`<p class="failure-text" role="alert">
              Closing this loses the ${this.secretNoun}. Copy it, and confirm that you have stored it.
            </p>`
          : nothing
      }
      ${warningList(secret.warnings)}
      <div class="dialog-actions">
        <button type="button" @click=${this.stored}>I have stored it</button>
      </div>`;
  }
}
