import { html, nothing } from 'lit';
import { codeIn } from '../link-code.ts';
import { session } from '../session.ts';
import { LightElement } from './light-element.ts';
import { failureText } from './page-state.ts';

const notACode = 'This is no link of ops console: it ends with #code= and 22 characters. Paste all of it.';

/** How to get a link, and a field for it. */
export class SignInForm extends LightElement {
  static override properties = { failure: {}, cancel: { attribute: false }, busy: { state: true } };

  /** Why the last attempt failed. */
  failure = '';
  /** Called instead of signing in. */
  cancel: (() => void) | undefined;
  busy = false;

  /** @param pasted link or code */
  async signIn(pasted: string) {
    const code = codeIn(pasted);
    this.failure = code === undefined ? notACode : '';
    if (code === undefined) return;
    this.busy = true;
    try {
      await session.signIn(code);
    } catch (error) {
      this.failure = failureText(error);
    } finally {
      this.busy = false;
    }
  }

  submit(event: SubmitEvent) {
    event.preventDefault();
    const field = this.querySelector('input');
    if (field !== null && !this.busy) void this.signIn(field.value).then(() => field.select());
  }

  override render() {
    return html`
      <p>Get a link that works once, within five minutes, where the gateway is installed:</p>
      <pre class="command"><code>npm run --silent ops -- console</code></pre>
      <p class="quiet">In a container: <code>node gateway/ops/main.ts console</code></p>
      <form class="sign-in" @submit=${this.submit}>
        <label>
          Link or code
          <input
            type="text"
            required
            autofocus
            autocomplete="off"
            autocapitalize="none"
            spellcheck="false"
            aria-describedby="sign-in-failure"
          />
        </label>
        <p class="failure-text" id="sign-in-failure" role="alert">${this.failure}</p>
        <div class="dialog-actions">
          ${
            this.cancel === undefined
              ? nothing
              : html`<button type="button" class="wa-plain" @click=${this.cancel}>Not now</button>`
          }
          <button type="submit" class="wa-brand" ?disabled=${this.busy}>
            ${this.busy ? 'Signing in…' : 'Sign in'}
          </button>
        </div>
      </form>
    `;
  }
}

customElements.define('sign-in-form', SignInForm);
