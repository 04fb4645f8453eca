import { html, nothing } from 'lit';
import { unsafeHTML } from 'lit/directives/unsafe-html.js';
import { LightElement } from '../../../../browser/elements/light-element.ts';
import { loadFailure, loading } from '../../../../browser/elements/page-state.ts';
import { url } from '../../../../browser/url.ts';
import { api } from '../api.ts';
import { documents, headingId } from '../documents.ts';

/** A document for operators that comes with the gateway, such as what to do when an alert fires. */
class PageDocument extends LightElement {
  static override properties = { item: {} };

  /** Name of the document. */
  item = '';
  /** HTML. */
  text: string | undefined;
  failure: unknown;

  override connectedCallback() {
    super.connectedCallback();
    void this.load();
  }

  async load() {
    this.failure = undefined;
    try {
      const { html: text } = await api.get<{ html: string }>(url`/api/documents?name=${this.item}`);
      this.text = text;
    } catch (error) {
      this.failure = error;
      return;
    }
    await this.updateComplete;
    for (const heading of this.querySelectorAll<HTMLElement>('h1, h2, h3')) {
      heading.id = headingId(heading.textContent);
      heading.tabIndex = -1;
      // It was not there when the browser looked for it.
      if (heading.id === location.hash.slice(1)) heading.focus();
    }
  }

  override render() {
    return html`<nav class="actions" aria-label="Documents">
        ${Object.entries(documents).map(
          ([name, label]) =>
            html`<a
              href=${url`/console/documents/${name}`}
              aria-current=${name === this.item ? 'page' : nothing}
              >${label}</a
            >`,
        )}
      </nav>
      ${this.failure === undefined ? this.content() : loadFailure(this.failure, () => void this.load())}`;
  }

  content() {
    if (this.text === undefined) return loading();
    // The gateway has made it of its own files, and shows HTML in them as text.
    return html`<article class="document">${unsafeHTML(this.text)}</article>`;
  }
}

customElements.define('page-document', PageDocument);
