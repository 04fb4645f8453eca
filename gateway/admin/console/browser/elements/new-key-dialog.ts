import 'webawesome/components/dialog/dialog.js';
import { html, nothing } from 'lit';
import { ApiFailure } from '../api.ts';
import { keyTitle } from '../key.ts';
import { CopyField } from './copy-field.ts';
import { LightElement } from './light-element.ts';
import { inlineFailure, warningList } from './page-state.ts';

/** @typedef {{ id: string, key: string, name: string, warnings: string[] }} IssuedKey */

/** A browser asks before it closes a tab whose page prevents this event. @param {BeforeUnloadEvent} event */
const keepTab = (event) => event.preventDefault();

/**
 * A dialog that ends in a new API key. The key is shown this once, so the dialog does not close before it is confirmed.
 * A subclass has the form, and what it calls.
 */
export class NewKeyDialog extends LightElement {
  static properties = {
    open: { state: true },
    busy: { state: true },
    failure: { state: true },
    mayExist: { state: true },
    issued: { state: true },
    reminded: { state: true },
  };

  constructor() {
    super();
    this.open = false;
    this.busy = false;
    /** @type {unknown} */
    this.failure = undefined;
    /** Whether the request for a key got no response. */
    this.mayExist = false;
    /** @type {IssuedKey | undefined} */
    this.issued = undefined;
    /** Whether somebody tried to close the dialog without having confirmed. */
    this.reminded = false;
  }

  show() {
    this.failure = undefined;
    this.mayExist = false;
    this.issued = undefined;
    this.reminded = false;
    this.open = true;
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener('beforeunload', keepTab);
  }

  /** @returns {string} */
  get heading() {
    return '';
  }

  /** @returns {string} */
  get action() {
    return '';
  }

  /** @returns {unknown} the content of the form */
  fields() {
    return nothing;
  }

  /**
   * @param {FormData} _form
   * @returns {Promise<IssuedKey>}
   */
  create(_form) {
    throw new Error('a subclass creates the key');
  }

  /** @param {SubmitEvent} event */
  async submit(event) {
    event.preventDefault();
    if (this.busy || !(event.target instanceof HTMLFormElement)) return;
    this.busy = true;
    this.failure = undefined;
    this.mayExist = false;
    try {
      this.issued = await this.create(new FormData(event.target));
      addEventListener('beforeunload', keepTab);
      await this.updateComplete;
      const field = this.querySelector('copy-field');
      if (field instanceof CopyField) await field.focusButton();
    } catch (error) {
      this.failure = error;
      this.mayExist = error instanceof ApiFailure && error.code === 'unreachable';
    } finally {
      this.busy = false;
    }
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

  /** Escape and the cross must not lose a key, nor a request under way. @param {Event} event */
  hide(event) {
    if (event.target !== event.currentTarget) return;
    if (!this.busy && this.issued === undefined) return;
    event.preventDefault();
    this.reminded = this.issued !== undefined;
  }

  /** @param {Event} event */
  hidden_(event) {
    if (event.target === event.currentTarget) this.open = false;
  }

  render() {
    if (!this.open) return nothing;
    return html`<wa-dialog
      label=${this.issued === undefined ? this.heading : 'The new API key'}
      open
      @wa-hide=${this.hide}
      @wa-after-hide=${this.hidden_}
    >
      ${this.issued === undefined ? this.renderForm() : this.renderKey(this.issued)}
    </wa-dialog>`;
  }

  renderForm() {
    return html`<form class="stack" @submit=${this.submit}>
      ${this.fields()} ${inlineFailure(this.failure)}
      ${
        this.mayExist
          ? html`<p>
              A key may have been made all the same, which nobody has: look under Changes or Customers.
            </p>`
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

  /** @param {IssuedKey} issued */
  renderKey(issued) {
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
