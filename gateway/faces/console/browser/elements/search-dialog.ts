import { html, nothing } from 'lit';
import { dayMs } from '../../../../limits/windows.ts';
import { field } from '../../../browser/elements/fields.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { findNamed, keyPath, keyTitle, openKey, pastedKey } from '../key.ts';

interface Hit {
  href: string;
  text: string;
  about?: string;
}

const most = 5;

/** Finds customers, keys and pages from everywhere. An API key that is pasted leads to its page, and gets into no address. */
class SearchDialog extends PolledElement<{ words: string; hits: Hit[] }> {
  pages: readonly Hit[] = [];
  text = '';

  constructor() {
    super();
    this.whileConnected((signal) => {
      const onKey = (event: KeyboardEvent) => {
        const isTyped =
          event.target instanceof HTMLElement && event.target.closest('input, select, textarea');
        const isAsked =
          event.key.toLowerCase() === 'k' ? event.metaKey || event.ctrlKey : event.key === '/' && !isTyped;
        if (!isAsked || document.querySelector('dialog[open]') !== null) return;
        event.preventDefault();
        this.open();
      };
      addEventListener('keydown', onKey, { signal });
      navigation.addEventListener('currententrychange', () => this.dialog?.close(), { signal });
    });
  }

  /** What was typed is searched for once. */
  override get pauseMs() {
    return dayMs;
  }

  /** As they were typed: letters of a hint differ by case. */
  get words() {
    return this.text.trim();
  }

  get dialog() {
    return this.querySelector('dialog');
  }

  open() {
    this.querySelector('form')?.reset();
    this.find('');
    this.dialog?.showModal();
  }

  input({ target }: Event) {
    if (!(target instanceof HTMLInputElement)) return;
    const key = pastedKey(target.value);
    if (key !== undefined) target.value = '';
    this.find(target.value);
    if (key !== undefined) void this.openKey(key);
  }

  /** The key's page may be the one that is shown already. */
  async openKey(key: string) {
    await openKey(this, key);
    if (this.failure === undefined) this.dialog?.close();
  }

  find(text: string) {
    this.failure = undefined;
    this.text = text;
    void this.reload();
  }

  async read() {
    const { words } = this;
    if (words === '') return { words, hits: [] };
    const found = async (noun: string) => {
      const items = await findNamed(noun, words, most, () => this.words === words);
      return items.map((item) => ({ href: keyPath(item.id), text: keyTitle(item), about: noun }));
    };
    return { words, hits: (await Promise.all([found('customer'), found('key')])).flat() };
  }

  /** The first hit is followed with Enter, the others are reached with Tab. After a key was pasted there are no words. */
  submit(event: SubmitEvent) {
    event.preventDefault();
    if (this.words !== '') this.querySelector('a')?.click();
  }

  view() {
    const { words, content } = this;
    const isFound = content?.words === words;
    const hits = this.pages.filter(({ text }) => text.toLowerCase().includes(words.toLowerCase()));
    if (isFound) hits.push(...content.hits);
    const notFound = hits.length === 0 ? 'Nothing found' : '';
    return html`<ul class="hits">
        ${hits.map(
          ({ href, text, about = 'page' }) =>
            html`<li>
              <a class="row spread" href=${href}>${text} <span class="quiet">${about}</span></a>
            </li>`,
        )}
      </ul>
      <p class="quiet" role="status">
        ${this.readFailure !== undefined ? nothing : isFound ? notFound : 'Searching…'}
      </p>`;
  }

  override render() {
    return html`<button type="button" class="quiet" title="Key /, Ctrl-K or ⌘K" @click=${this.open}>
        Search…
      </button>
      <dialog class="search-dialog" aria-label="Find">
        <form role="search" @submit=${this.submit} @input=${this.input}>
          ${field('Customer, key or page', 'search', {
            type: 'search',
            maxlength: 5000,
            placeholder: 'Customer, id, hint, a whole API key, or page',
            autofocus: true,
          })}
        </form>
        ${super.render()}
      </dialog>`;
  }
}

customElements.define('search-dialog', SearchDialog);
