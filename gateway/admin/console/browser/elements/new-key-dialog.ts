import { html, nothing } from 'lit';
import { ApiFailure } from '../../../../browser/api-failure.ts';
import { SecretDialog } from '../../../../browser/elements/secret-dialog.ts';
import type { FormTexts } from '../../../../browser/form-text.ts';
import { keyTitle } from '../key.ts';
import type { IssuedKey } from '../responses.ts';

/** A dialog that ends in a new API key. A subclass has the form, and what it calls. */
export abstract class NewKeyDialog extends SecretDialog {
  override readonly secretNoun = 'key';
  override readonly secretLabel = 'API key';
  issued: IssuedKey | undefined;
  /** Whether the last request had no response, so that nobody knows whether it made a key. */
  mayExist = false;
  /** Called with the key when it is stored elsewhere. */
  done: (issued: { id: string }) => unknown = () => {};

  abstract create(form: FormTexts): Promise<IssuedKey>;

  override async submit(form: FormTexts) {
    this.mayExist = false;
    this.issued = await this.create(form).catch((error: unknown) => {
      this.mayExist = error instanceof ApiFailure && error.code === 'unreachable';
      throw error;
    });
    await this.focusSecret();
  }

  get secret() {
    return this.issued && { text: this.issued.key, warnings: this.issued.warnings };
  }

  /** Neither a key may be lost, nor a request under way. */
  override get isHeld() {
    return this.busy || super.isHeld;
  }

  about() {
    const { issued } = this;
    return html`<p>
      The key of <strong>${issued && keyTitle(issued)}</strong> works now.
      <strong>It is not shown again</strong>: only its hash is stored. Copy it before you close this.
    </p>`;
  }

  override stored() {
    super.stored();
    if (this.issued !== undefined) this.done(this.issued);
  }

  override failureView() {
    return html`${super.failureView()}
    ${
      this.mayExist
        ? html`<p>A key may have been made all the same, which nobody has: look under Audit or Keys.</p>`
        : nothing
    }`;
  }
}
