import './sign-in-form.ts';
import { html } from 'lit';
import { productName } from '../product.ts';
import { session } from '../session.ts';
import { ActingElement } from './acting-element.ts';
import { notify } from './notice.ts';

/** The page without a session. Exchanges the code of a link at once. */
class SignIn extends ActingElement {
  static override properties = { code: {} };

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
