import { html } from 'lit';
import { dayMs } from '../../../../limits/windows.ts';
import { field, withField } from '../../../browser/elements/fields.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { api, url } from '../api.ts';
import { keyPath, keyTitle, openKey, pastedKey, type Named } from '../key.ts';
import type { Page } from '../responses.ts';

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

  get words() {
    return this.text.trim().toLowerCase();
  }

  get dialog() {
    return this.querySelector('dialog');
  }

  open() {
    this.input('');
    this.dialog?.showModal();
  }

  input(text: string) {
    this.failure = undefined;
    const key = pastedKey(text);
    this.text = key === undefined ? text : '';
    if (key === undefined) void this.reload();
    else openKey(this, key);
  }

  async read() {
    const { words } = this;
    if (words === '') return { words, hits: [] };
    const found = async (noun: string) => {
      const { items } = await api.get<Page<Named>>(url`/api/${noun}s?search=${words}&limit=${most}`);
      return items.map((item) => ({ href: keyPath(item.id), text: keyTitle(item), about: noun }));
    };
    return { words, hits: (await Promise.all([found('customer'), found('key')])).flat() };
  }

  /** The first one is followed with Enter, the others are reached with Tab. */
  submit(event: SubmitEvent) {
    event.preventDefault();
    this.querySelector('a')?.click();
  }

  view() {
    const { words, content } = this;
    const isFound = content?.words === words;
    const hits = this.pages.filter(({ text }) => text.toLowerCase().includes(words));
    if (isFound) hits.push(...content.hits);
    return html`<ul class="hits">
        ${hits.map(
          ({ href, text, about = 'page' }) =>
            html`<li>
              <a class="row spread" href=${href}>${text} <span class="quiet">${about}</span></a>
            </li>`,
        )}
      </ul>
      <p class="quiet" role="status">
        ${isFound ? (hits.length === 0 ? 'Nothing found' : '') : 'Searching…'}
      </p>`;
  }

  override render() {
    return html`<button type="button" class="quiet" title="Key /" @click=${this.open}>Search…</button>
      <dialog class="search-dialog" aria-label="Find">
        <form role="search" @submit=${this.submit} @input=${withField((text) => this.input(text))}>
          ${field('Customer, key or page', 'search', {
            type: 'search',
            maxlength: 5000,
            placeholder: 'Customer, id, hint, a whole API key, or page',
            autofocus: true,
            value: this.text,
          })}
        </form>
        ${super.render()}
      </dialog>`;
  }
}

customElements.define('search-dialog', SearchDialog);
