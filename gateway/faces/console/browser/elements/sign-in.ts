import { html, nothing } from 'lit';
import { ApiFailure } from '../../../browser/api-failure.ts';
import { ActingElement } from '../../../browser/elements/acting-element.ts';
import { LightElement } from '../../../browser/elements/light-element.ts';
import { notify } from '../../../browser/elements/notice.ts';
import { failureText } from '../../../browser/elements/page-state.ts';
import { codeIn } from '../../../browser/link-code.ts';
import { productName } from '../../../browser/page-facts.ts';
import { session } from '../session.ts';

const notACode = new ApiFailure({
  code: 'invalid_code',
  message: 'This is no link of ops console: it ends with #code= and 22 characters. Paste all of it.',
  status: 0,
});

/** How to get a link, and a field for it. */
class SignInForm extends ActingElement {
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
      <pre><code>npm run --silent ops -- console</code></pre>
      <p class="quiet">In a container: <code>node gateway/faces/command/main.ts console</code></p>
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
              : html`<button type="button" class="plain" @click=${this.cancel}>Not now</button>`
          }
          <button type="submit" class="primary" ?disabled=${this.busy}>
            ${this.busy ? 'Signing in…' : 'Sign in'}
          </button>
        </div>
      </form>
    `;
  }
}

customElements.define('sign-in-form', SignInForm);

/** Asks to sign in again, over a page that stays as it is. */
class SignInDialog extends LightElement {
  #focused: Element | null = null;

  override firstUpdated() {
    this.#focused = document.activeElement;
    void this.show();
  }

  async show() {
    const form = this.querySelector('sign-in-form');
    // The dialog moves the focus to its field, which has to be there.
    if (form instanceof SignInForm) await form.updateComplete;
    this.querySelector('dialog')?.showModal();
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    if (this.#focused instanceof HTMLElement) this.#focused.focus();
  }

  override render() {
    return html`<dialog
      class="sign-in-again"
      aria-labelledby="sign-in-again"
      @close=${() => session.giveUp()}
    >
      <h2 id="sign-in-again">Your session has ended</h2>
      <p>Nothing that you have typed is lost. What you were doing goes on after you sign in.</p>
      <sign-in-form .cancel=${() => session.giveUp()}></sign-in-form>
    </dialog>`;
  }
}

customElements.define('sign-in-dialog', SignInDialog);

/** The page without a session. Exchanges the code of a link at once. */
class SignIn extends ActingElement {
  /** Code of the link that this page was opened with. */
  code: string | undefined;

  override connectedCallback() {
    super.connectedCallback();
    document.title = `Sign in – ${productName}`;
    if (this.code !== undefined) void this.signIn(this.code);
  }

  async signIn(code: string) {
    await this.act(async () => {
      try {
        await session.signIn(code);
      } catch (error) {
        await this.goOn();
        throw error;
      }
    });
  }

  /** A link that was opened once more, as from a bookmark, does not end the session that there is. */
  async goOn() {
    const isSignedIn = await session.load().catch(() => false);
    if (isSignedIn) notify('The link was not used: you are signed in already.');
  }

  override render() {
    if (this.busy) return html`<p class="quiet" role="status">Signing in…</p>`;
    return html`<h1>Sign in</h1>
      <sign-in-form .failure=${this.failure}></sign-in-form>`;
  }
}

customElements.define('sign-in', SignIn);
