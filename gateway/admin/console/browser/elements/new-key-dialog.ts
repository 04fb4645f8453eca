import { html, nothing } from 'lit';
import { ApiFailure } from '../../../../browser/api-failure.ts';
import { CopyField } from '../../../../browser/elements/copy-field.ts';
import { DialogElement } from '../../../../browser/elements/dialog-element.ts';
import { warningList } from '../../../../browser/elements/page-state.ts';
import type { FormTexts } from '../../../../browser/form-text.ts';
import { keyTitle } from '../key.ts';
import type { IssuedKey } from '../responses.ts';

/** A browser asks before it closes a tab whose page prevents this event. */
const keepTab = (event: BeforeUnloadEvent) => event.preventDefault();

/**
 * A dialog that ends in a new API key. The key is shown this once, so the dialog does not close before it is confirmed.
 * A subclass has the form, and what it calls.
 */
export abstract class NewKeyDialog extends DialogElement {
  issued: IssuedKey | undefined;
  /** Whether somebody tried to close the dialog without having confirmed. */
  reminded = false;
  /** Whether the last request had no response, so that nobody knows whether it made a key. */
  mayExist = false;
  /** Called with the key when it is stored elsewhere. */
  done: (issued: { id: string }) => unknown = () => {};

  abstract create(form: FormTexts): Promise<IssuedKey>;

  override disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener('beforeunload', keepTab);
  }

  override async submit(form: FormTexts) {
    this.mayExist = false;
    this.issued = await this.create(form).catch((error: unknown) => {
      this.mayExist = error instanceof ApiFailure && error.code === 'unreachable';
      throw error;
    });
    addEventListener('beforeunload', keepTab);
    await this.updateComplete;
    const field = this.querySelector('copy-field');
    if (field instanceof CopyField) await field.focusButton();
  }

  /** Escape and the cross must not lose a key, nor a request under way. */
  override hide(event: Event) {
    if (event.target !== event.currentTarget || (!this.busy && this.issued === undefined)) return;
    event.preventDefault();
    this.reminded = this.issued !== undefined;
  }

  override content() {
    const { issued } = this;
    if (issued === undefined) return super.content();
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
        <button
          type="button"
          @click=${() => {
            this.remove();
            this.done(issued);
          }}
        >
          I have stored it
        </button>
      </div>`;
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
