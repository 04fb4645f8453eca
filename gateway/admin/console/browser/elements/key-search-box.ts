import { html, nothing } from 'lit';
import { ActingElement } from '../../../../browser/elements/acting-element.ts';
import { checkbox, choice } from '../../../../browser/elements/fields.ts';
import { inlineFailure } from '../../../../browser/elements/page-state.ts';
import { withField } from '../../../../browser/form-text.ts';
import { api } from '../api.ts';
import { keyPath } from '../key.ts';
import { pastedKey } from '../pasted-key.ts';
import { fetchPlanNames } from '../plan-names.ts';
import { router } from '../router.ts';

/** Time without a key press after which the text is searched for. */
const typingMs = 300;

const states: [state: string, label: string][] = [
  ['', 'Any state'],
  ['valid', 'Valid'],
  ['banned', 'Banned'],
  ['expired', 'Expired'],
  ['revoked', 'Revoked'],
  ['unusable', 'Invalid record'],
];
const expiries: [days: string, label: string][] = [
  ['', 'Any expiry'],
  ['7', 'Within 7 days'],
  ['30', 'Within 30 days'],
  ['90', 'Within 90 days'],
];

/**
 * Search for keys, with its filters, in the query of the address. An API key that is pasted never gets there: it is taken
 * out of the field at once, looked up in the body of a request, and leads to its customer.
 */
class KeySearchBox extends ActingElement {
  plans: string[] = [];
  #typing: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.whileConnected(() => router.subscribe(() => this.followAddress()));
    this.whileConnected(() => () => clearTimeout(this.#typing));
    void fetchPlanNames().then((plans) => (this.plans = plans));
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
      router.navigate(keyPath(id));
    });
  }

  override render() {
    const { query } = router.location;
    return html`<form role="search" class="search-box" @submit=${this.submit}>
        <label class="search-text"
          >Search
          <input
            type="search"
            autocomplete="off"
            spellcheck="false"
            maxlength="5000"
            placeholder="Name, id, hint, or a whole API key"
            value=${query.get('search') ?? ''}
            @paste=${this.paste}
            @input=${withField((text) => this.input(text))}
          />
        </label>
        ${select('Plan', 'plan', [['', 'Any plan'], ...this.plans.map((name) => [name, name] as const)])}
        ${select('State', 'state', states)} ${select('Expiry', 'expires', expiries)}
        ${checkbox('Own limits', undefined, {
          checked: query.get('own') === 'true',
          onInput: (isTicked) => filter('own', isTicked ? 'true' : ''),
        })}
      </form>
      ${this.busy ? html`<p class="quiet" role="status">Looking up the pasted key…</p>` : nothing}
      ${inlineFailure(this.failure)}`;
  }
}

/** @param name parameter of the address */
const select = (label: string, name: string, options: Parameters<typeof choice>[2]) =>
  choice(label, undefined, options, {
    value: router.location.query.get(name) ?? '',
    onChange: (value) => filter(name, value),
  });

function filter(name: string, value: string) {
  router.setQuery({ [name]: value, after: undefined }, { replace: false });
}

customElements.define('key-search-box', KeySearchBox);
