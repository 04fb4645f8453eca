import { html } from 'lit';
import { LightElement } from './light-element.ts';

const confirmedMs = 2000;

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
      setTimeout(() => (this.said = ''), confirmedMs);
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
