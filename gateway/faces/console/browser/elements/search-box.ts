import { html, nothing } from 'lit';
import { ActingElement } from '../../../browser/elements/acting-element.ts';
import { inlineFailure } from '../../../browser/elements/page-state.ts';
import { withField } from '../../../browser/form-text.ts';
import { api } from '../api.ts';
import { pastedKey } from '../pasted-key.ts';
import { router } from '../router.ts';

/** Time without a key press after which the text is searched for. */
const typingMs = 300;

/**
 * Search of a list, in the query of the address. An API key that is pasted never gets there: it is taken out of the field
 * at once, looked up in the body of a request, and leads to what it belongs to.
 */
export abstract class SearchBox extends ActingElement {
  #typing: ReturnType<typeof setTimeout> | undefined;

  abstract readonly placeholder: string;
  /** Path of the page that a pasted key leads to. @param id of the key */
  abstract pathOf(id: string): string | Promise<string>;

  constructor() {
    super();
    this.whileConnected(() => router.subscribe(() => this.followAddress()));
    this.whileConnected(() => () => clearTimeout(this.#typing));
  }

  /** Fields beside that of the text. */
  filters(): unknown {
    return nothing;
  }

  /** After back or a shared link, the field shows what is searched for. Not while it is typed in. */
  followAddress() {
    const { field } = this;
    if (field !== null && document.activeElement !== field) {
      field.value = router.location.query.get('search') ?? '';
    }
    this.requestUpdate();
  }

  get field() {
    return this.querySelector<HTMLInputElement>('input[type="search"]');
  }

  paste(event: ClipboardEvent) {
    const key = pastedKey(event.clipboardData?.getData('text') ?? '');
    if (key === undefined) return;
    event.preventDefault();
    void this.find(key);
  }

  input(text: string) {
    clearTimeout(this.#typing);
    this.failure = undefined;
    // Typed by hand, dropped, or filled in by the browser.
    const key = pastedKey(text);
    if (key !== undefined) void this.find(key);
    else this.#typing = setTimeout(() => this.search(text), typingMs);
  }

  submit(event: SubmitEvent) {
    event.preventDefault();
    clearTimeout(this.#typing);
    this.search(this.field?.value ?? '');
  }

  search(text: string) {
    router.setQuery({ search: text.trim(), after: undefined });
  }

  /** @param text with an API key */
  async find(text: string) {
    if (this.field !== null) this.field.value = '';
    await this.act(async () => {
      const { id } = await api.post<{ id: string }>('/api/keys/find', { text });
      router.navigate(await this.pathOf(id));
    });
  }

  override render() {
    return html`<form role="search" class="search-box" @submit=${this.submit}>
        <label class="search-text"
          >Search
          <input
            type="search"
            autocomplete="off"
            spellcheck="false"
            maxlength="5000"
            placeholder=${this.placeholder}
            value=${router.location.query.get('search') ?? ''}
            @paste=${this.paste}
            @input=${withField((text) => this.input(text))}
          />
        </label>
        ${this.filters()}
      </form>
      ${this.busy ? html`<p class="quiet" role="status">Looking up the pasted key…</p>` : nothing}
      ${inlineFailure(this.failure)}`;
  }
}
