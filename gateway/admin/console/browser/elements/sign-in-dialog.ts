import { html } from 'lit';
import { session } from '../session.ts';
import { LightElement } from './light-element.ts';
import { SignInForm } from './sign-in-form.ts';

/** Asks to sign in again, over a page that stays as it is. */
class SignInDialog extends LightElement {
  focused: Element | null = null;

  override firstUpdated() {
    this.focused = document.activeElement;
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
    if (this.focused instanceof HTMLElement) this.focused.focus();
  }

  /** A dialog below, which this one was opened over, must not close as well. */
  keepEscape(event: KeyboardEvent) {
    if (event.key === 'Escape') event.stopPropagation();
  }

  override render() {
    return html`<dialog
      class="sign-in-again"
      aria-labelledby="sign-in-again"
      @keydown=${this.keepEscape}
      @close=${() => session.giveUp()}
    >
      <h2 id="sign-in-again">${session.hasEnded ? 'Your session has ended' : 'Sign in again'}</h2>
      <p>Nothing that you have typed is lost. What you were doing goes on after you sign in.</p>
      <sign-in-form .cancel=${() => session.giveUp()}></sign-in-form>
    </dialog>`;
  }
}

customElements.define('sign-in-dialog', SignInDialog);
