import { html } from 'lit';
import { ActingElement } from '../../../browser/elements/acting-element.ts';
import { inlineFailure } from '../../../browser/elements/page-state.ts';
import { withField } from '../../../browser/form-text.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { keyPath, keyTitle } from '../key.ts';
import { findKey, pastedKey } from '../pasted-key.ts';
import type { CustomerRow, KeyRow, Page } from '../responses.ts';
import { router } from '../router.ts';

interface Hit {
  href: string;
  text: string;
  about?: string;
}

const typingMs = 200;
const most = 5;

const hit = (about: string) => (found: { id: string; name: string }) => ({
  href: keyPath(found.id),
  text: keyTitle(found),
  about,
});

/** Finds customers, keys and pages from everywhere. An API key that is pasted leads to its page, and gets into no address. */
class SearchDialog extends ActingElement {
  pages: readonly Hit[] = [];
  hits: readonly Hit[] = [];
  text = '';
  #typing: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.whileConnected(() => {
      const onKey = (event: KeyboardEvent) => {
        const isTyped =
          event.target instanceof HTMLElement && event.target.closest('input, select, textarea');
        const isAsked =
          event.key.toLowerCase() === 'k' ? event.metaKey || event.ctrlKey : event.key === '/' && !isTyped;
        if (!isAsked || document.querySelector('dialog[open]') !== null) return;
        event.preventDefault();
        this.open();
      };
      addEventListener('keydown', onKey);
      const unsubscribe = router.subscribe(() => this.dialog?.close());
      return () => {
        removeEventListener('keydown', onKey);
        unsubscribe();
        clearTimeout(this.#typing);
      };
    });
  }

  get dialog() {
    return this.querySelector('dialog');
  }

  open() {
    this.hits = this.pages;
    this.text = '';
    this.failure = undefined;
    this.dialog?.showModal();
  }

  input(text: string) {
    clearTimeout(this.#typing);
    const key = pastedKey(text);
    this.text = key === undefined ? text : '';
    if (key === undefined) {
      const words = text.trim().toLowerCase();
      this.hits = this.pages.filter((page) => page.text.toLowerCase().includes(words));
      if (words !== '') this.#typing = setTimeout(() => void this.find(words), typingMs);
    } else {
      void this.act(async () => router.navigate(await findKey(key)));
    }
  }

  find(words: string) {
    return this.act(async () => {
      const read = <Row>(list: string) =>
        api.get<Page<Row>>(url`/api/${list}?search=${words}&limit=${most}`).then(({ items }) => items);
      const [customers, keys] = await Promise.all([read<CustomerRow>('customers'), read<KeyRow>('keys')]);
      if (words === this.text.trim().toLowerCase())
        this.hits = [...this.hits, ...customers.map(hit('customer')), ...keys.map(hit('key'))];
    });
  }

  /** The first one is followed with Enter, the others are reached with the arrows. */
  move(event: KeyboardEvent) {
    const links = Array.from(this.querySelectorAll('a'));
    const index = links.findIndex((link) => link === document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = links[index + step] ?? this.querySelector('input');
    next?.focus();
  }

  submit(event: SubmitEvent) {
    event.preventDefault();
    this.querySelector('a')?.click();
  }

  override render() {
    return html`<button type="button" class="quiet" @click=${this.open}>
        Search <span class="tag" aria-hidden="true">/</span>
      </button>
      <dialog class="search-dialog" aria-label="Find" @keydown=${this.move}>
        <form role="search" @submit=${this.submit}>
          <input
            type="search"
            aria-label="Customer, key or page"
            placeholder="Customer, id, hint, a whole API key, or page"
            autocomplete="off"
            spellcheck="false"
            maxlength="5000"
            autofocus
            .value=${this.text}
            @input=${withField((text) => this.input(text))}
          />
        </form>
        ${inlineFailure(this.failure)}
        <ul class="hits">
          ${this.hits.map(
            ({ href, text, about = 'page' }) =>
              html`<li>
                <a href=${href}>${text} <span class="quiet">${about}</span></a>
              </li>`,
          )}
        </ul>
        <p class="quiet" role="status">
          ${this.busy ? 'Searching…' : this.hits.length === 0 ? 'Nothing found' : ''}
        </p>
      </dialog>`;
  }
}

customElements.define('search-dialog', SearchDialog);
