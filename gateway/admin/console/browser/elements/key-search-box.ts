import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { keyPath } from '../key.ts';
import { pastedKey } from '../pasted-key.ts';
import { router } from '../router.ts';
import { LightElement } from './light-element.ts';
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
class KeySearchBox extends LightElement {
  static properties = {
    plans: { state: true },
    failure: { state: true },
    looking: { state: true },
  };

  constructor() {
    super();
    /** @type {string[]} */
    this.plans = [];
    /** @type {unknown} */
    this.failure = undefined;
    this.looking = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.typing = undefined;
  }

  connectedCallback() {
    super.connectedCallback();
    this.unsubscribe = router.subscribe(() => this.followAddress());
    void this.loadPlans();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.typing);
    this.unsubscribe?.();
  }

  async loadPlans() {
    /** @type {{ items: { name: string }[] }} */
    const { items } = await api.get('/api/key-plans').catch(() => ({ items: [] }));
    this.plans = items.map(({ name }) => name);
  }

  /** After back or a shared link, the field shows what is searched for. Not while it is typed in. */
  followAddress() {
    const field = this.querySelector('input[type="search"]');
    if (field instanceof HTMLInputElement && document.activeElement !== field) {
      field.value = router.location.query.get('search') ?? '';
    }
    this.requestUpdate();
  }

  /** @param {ClipboardEvent} event */
  paste(event) {
    const key = pastedKey(event.clipboardData?.getData('text') ?? '');
    if (key === undefined) return;
    event.preventDefault();
    void this.find(key);
  }

  /** @param {InputEvent} event */
  input(event) {
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

  /** @param {SubmitEvent} event */
  submit(event) {
    event.preventDefault();
    clearTimeout(this.typing);
    const field = this.querySelector('input[type="search"]');
    if (field instanceof HTMLInputElement) this.search(field.value);
  }

  /** @param {string} text */
  search(text) {
    router.setQuery({ search: text.trim(), after: undefined });
  }

  /** @param {string} text with an API key */
  async find(text) {
    const field = this.querySelector('input[type="search"]');
    if (field instanceof HTMLInputElement) field.value = '';
    this.failure = undefined;
    this.looking = true;
    try {
      const { id } = await api.post('/api/keys/find', { text });
      router.navigate(keyPath(id));
    } catch (error) {
      this.failure = error;
    } finally {
      this.looking = false;
    }
  }

  render() {
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
            @change=${(/** @type {Event} */ { target }) =>
              this.filter('own', target instanceof HTMLInputElement && target.checked ? 'true' : '')}
          />
          Own limits</label
        >
      </form>
      ${this.looking ? html`<p class="quiet" role="status">Looking up the pasted key…</p>` : nothing}
      ${inlineFailure(this.failure)}`;
  }

  /**
   * @param {string} label
   * @param {string} name parameter of the address
   * @param {string[][]} options value and text
   */
  renderSelect(label, name, options) {
    const chosen = router.location.query.get(name) ?? '';
    const isKnown = options.some(([value]) => value === chosen);
    return html`<label
      >${label}
      <select
        @change=${(/** @type {Event} */ { target }) => {
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

  /**
   * @param {string} name
   * @param {string} value
   */
  filter(name, value) {
    router.setQuery({ [name]: value, after: undefined }, { replace: false });
  }
}

customElements.define('key-search-box', KeySearchBox);
