import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { fetchPlanNames } from '../key-search.ts';
import { keyPath } from '../key.ts';
import { pastedKey } from '../pasted-key.ts';
import { router } from '../router.ts';
import { ActingElement } from './acting-element.ts';
import { inlineFailure } from './page-state.ts';

/** Time without a key press after which the text is searched for. */
const typingMs = 300;

const states = [
  ['', 'Any state'],
  ['valid', 'Valid'],
  ['banned', 'Banned'],
  ['expired', 'Expired'],
  ['revoked', 'Revoked'],
  ['unusable', 'Invalid record'],
];
const expiries = [
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
  static override properties = {
    plans: { state: true },
  };

  plans: string[] = [];
  typing: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.whileConnected(() => router.subscribe(() => this.followAddress()));
    this.whileConnected(() => () => clearTimeout(this.typing));
    void fetchPlanNames().then((plans) => (this.plans = plans));
  }

  /** After back or a shared link, the field shows what is searched for. Not while it is typed in. */
  followAddress() {
    const field = this.querySelector('input[type="search"]');
    if (field instanceof HTMLInputElement && document.activeElement !== field) {
      field.value = router.location.query.get('search') ?? '';
    }
    this.requestUpdate();
  }

  paste(event: ClipboardEvent) {
    const key = pastedKey(event.clipboardData?.getData('text') ?? '');
    if (key === undefined) return;
    event.preventDefault();
    void this.find(key);
  }

  input(event: InputEvent) {
    if (!(event.target instanceof HTMLInputElement)) return;
    const { target } = event;
    clearTimeout(this.typing);
    this.failure = undefined;
    // Typed by hand, dropped, or filled in by the browser.
    const key = pastedKey(target.value);
    if (key !== undefined) {
      target.value = '';
      void this.find(key);
      return;
    }
    this.typing = setTimeout(() => this.search(target.value), typingMs);
  }

  submit(event: SubmitEvent) {
    event.preventDefault();
    clearTimeout(this.typing);
    const field = this.querySelector('input[type="search"]');
    if (field instanceof HTMLInputElement) this.search(field.value);
  }

  search(text: string) {
    router.setQuery({ search: text.trim(), after: undefined });
  }

  /** @param text with an API key */
  async find(text: string) {
    const field = this.querySelector('input[type="search"]');
    if (field instanceof HTMLInputElement) field.value = '';
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
            @input=${this.input}
          />
        </label>
        ${this.renderSelect('Plan', 'plan', [['', 'Any plan'], ...this.plans.map((name) => [name, name])])}
        ${this.renderSelect('State', 'state', states)} ${this.renderSelect('Expiry', 'expires', expiries)}
        <label class="check"
          ><input
            type="checkbox"
            .checked=${query.get('own') === 'true'}
            @change=${({ target }: Event) =>
              this.filter('own', target instanceof HTMLInputElement && target.checked ? 'true' : '')}
          />
          Own limits</label
        >
      </form>
      ${this.busy ? html`<p class="quiet" role="status">Looking up the pasted key…</p>` : nothing}
      ${inlineFailure(this.failure)}`;
  }

  /**
   * @param name parameter of the address
   * @param options value and text
   */
  renderSelect(label: string, name: string, options: string[][]) {
    const chosen = router.location.query.get(name) ?? '';
    const isKnown = options.some(([value]) => value === chosen);
    return html`<label
      >${label}
      <select
        @change=${({ target }: Event) => {
          if (target instanceof HTMLSelectElement) this.filter(name, target.value);
        }}
      >
        ${(isKnown ? options : [...options, [chosen, chosen]]).map(
          ([value = '', text]) =>
            html`<option value=${value} ?selected=${value === chosen} .selected=${value === chosen}>
              ${text}
            </option>`,
        )}
      </select></label
    >`;
  }

  filter(name: string, value: string) {
    router.setQuery({ [name]: value, after: undefined }, { replace: false });
  }
}

customElements.define('key-search-box', KeySearchBox);
