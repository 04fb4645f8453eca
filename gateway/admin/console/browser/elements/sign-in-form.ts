import { html, nothing } from 'lit';
import { ApiFailure } from '../api-failure.ts';
import { codeIn } from '../link-code.ts';
import { session } from '../session.ts';
import { ActingElement } from './acting-element.ts';
import { failureText } from './page-state.ts';

const notACode = new ApiFailure({
  code: 'invalid_code',
  message: 'This is no link of ops console: it ends with #code= and 22 characters. Paste all of it.',
  status: 0,
});

/** How to get a link, and a field for it. */
export class SignInForm extends ActingElement {
  static override properties = { cancel: { attribute: false } };

  /** Called instead of signing in. */
  cancel: (() => void) | undefined;

  /** @param pasted link or code */
  async signIn(pasted: string) {
    const code = codeIn(pasted);
    await this.act(async () => {
      if (code === undefined) throw notACode;
      await session.signIn(code);
    });
  }

  submit(event: SubmitEvent) {
    event.preventDefault();
    const field = this.querySelector('input');
    if (field !== null) void this.signIn(field.value).then(() => field.select());
  }

  override render() {
    return html`
      <p>Get a link that works once, within five minutes, where the gateway is installed:</p>
      <pre class="command"><code>npm run --silent ops -- console</code></pre>
      <p class="quiet">In a container: <code>node gateway/ops/main.ts console</code></p>
      <p class="quiet">A session lasts twelve hours. It ends earlier if Redis loses its data.</p>
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
        <p class="failure-text" id="sign-in-failure" role="alert">
          ${this.failure === undefined ? nothing : failureText(this.failure)}
        </p>
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
