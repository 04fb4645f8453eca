import { html } from 'lit';
import { ApiFailure } from '../../../browser/api-failure.ts';
import { ActingElement } from '../../../browser/elements/acting-element.ts';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { field } from '../../../browser/elements/fields.ts';
import type { LightElement } from '../../../browser/elements/light-element.ts';
import { notify } from '../../../browser/elements/notice.ts';
import { inlineFailure } from '../../../browser/elements/page-state.ts';
import { formTexts, type FormTexts } from '../../../browser/form-text.ts';
import { codeIn } from '../../../browser/link-code.ts';
import { productName } from '../../../browser/page-facts.ts';
import { session } from '../session.ts';

/** How to get a link, and a field for it. */
const howToSignIn = () =>
  html`<p>Get a link that works once, within five minutes, where the gateway is installed:</p>
    <pre><code>npm run --silent ops -- console</code></pre>
    <p class="quiet">In a container: <code>node gateway/faces/command/main.ts console</code></p>
    <p class="quiet">A session lasts twelve hours. It ends earlier if Redis loses its data.</p>
    ${field('Link or code', 'code', { required: true, autofocus: true, maxlength: 1000 })}`;

/** Signs in with the link or code that was pasted. */
async function signInWith(form: FormTexts) {
  const code = codeIn(form('code'));
  if (code !== undefined) return session.signIn(code);
  const message = 'This is no link of ops console: it ends with #code= and 22 characters. Paste all of it.';
  throw new ApiFailure({ code: 'invalid_code', message, status: 0 });
}

/** Asks to sign in again, over a page that stays as it is, until there is a session. */
export function askToSignInAgain(host: LightElement) {
  let close: (() => void) | undefined;
  session.subscribe(() => {
    if (!session.isAsking) {
      close?.();
      close = undefined;
      return;
    }
    close ??= ask(host, {
      heading: 'Your session has ended',
      action: 'Sign in',
      asksReason: false,
      isRequired: true,
      message: () =>
        html`<p>Nothing that you have typed is lost. What you were doing goes on after you sign in.</p>
          ${howToSignIn()}`,
      run: signInWith,
    });
  });
}

/** The page without a session. Exchanges the code of a link at once. */
class SignIn extends ActingElement {
  /** Code of the link that this page was opened with. */
  code: string | undefined;

  override connectedCallback() {
    super.connectedCallback();
    document.title = `Sign in – ${productName}`;
    if (this.code !== undefined) void this.enter(this.code);
  }

  async enter(code: string) {
    await this.act(async () => {
      try {
        await session.signIn(code);
      } catch (error) {
        await this.goOn();
        throw error;
      }
    });
    this.code = undefined;
  }

  /** A link that was opened once more, as from a bookmark, does not end the session that there is. */
  async goOn() {
    const isSignedIn = await session.load().catch(() => false);
    if (isSignedIn) notify('The link was not used: you are signed in already.');
  }

  submit(event: SubmitEvent) {
    const form = formTexts(event);
    void this.act(() => signInWith(form));
  }

  override render() {
    if (this.code !== undefined) return html`<p class="quiet" role="status">Signing in…</p>`;
    return html`<h1>Sign in</h1>
      <form class="stack" @submit=${this.submit}>
        ${howToSignIn()} ${inlineFailure(this.failure)}
        <div class="dialog-actions"><button class="primary" ?disabled=${this.busy}>Sign in</button></div>
      </form>`;
  }
}

customElements.define('sign-in', SignIn);
