import { html } from 'lit';
import { session } from '../session.js';
import { LightElement } from './light-element.js';

const linkCode = () => /^#code=(.+)$/.exec(location.hash)?.[1];

/** Exchanges the code of a link for a session: as a page, or over a page whose session has ended. */
class SignIn extends LightElement {
  static properties = { failure: { state: true }, busy: { state: true } };

  constructor() {
    super();
    /** @type {string | undefined} */
    this.failure = undefined;
    this.busy = false;
  }

  connectedCallback() {
    super.connectedCallback();
    const code = linkCode();
    if (code === undefined) return;
    // The code must not stay in the address or in the history.
    history.replaceState(null, '', location.pathname + location.search);
    void this.signIn(code);
  }

  /** @param {string} code */
  async signIn(code) {
    this.busy = true;
    this.failure = await session.signIn(code);
    this.busy = false;
  }

  /** @param {SubmitEvent} event */
  submit(event) {
    event.preventDefault();
    if (!(event.target instanceof HTMLFormElement)) return;
    const pasted = new FormData(event.target).get('link');
    if (typeof pasted === 'string') void this.signIn(pasted.trim().replace(/^.*#code=/, ''));
  }

  render() {
    return html`<h1>Sign in</h1>
      <p>Get a link that works once: <code>npm run --silent ops -- console</code></p>
      <form @submit=${this.submit}>
        <label>Link or code <input name="link" autocomplete="off" required /></label>
        ${this.failure === undefined ? undefined : html`<p class="failure-text" role="alert">${this.failure}</p>`}
        <button class="wa-brand" ?disabled=${this.busy}>Sign in</button>
      </form>`;
  }
}

customElements.define('sign-in', SignIn);
