import './sign-in-form.js';
import { html } from 'lit';
import { session } from '../session.js';
import { LightElement } from './light-element.js';

/** Asks to sign in again, over a page that stays as it is. */
class SignInDialog extends LightElement {
  firstUpdated() {
    this.focused = document.activeElement;
    this.querySelector('dialog')?.showModal();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    if (this.focused instanceof HTMLElement) this.focused.focus();
  }

  /**
   * A dialog below, which this one was opened over, must not close as well.
   * @param {KeyboardEvent} event
   */
  keepEscape(event) {
    if (event.key === 'Escape') event.stopPropagation();
  }

  render() {
    const isOver = session.endsAtMs <= Date.now();
    return html`<dialog
      class="sign-in-again"
      aria-labelledby="sign-in-again"
      @keydown=${this.keepEscape}
      @close=${() => session.giveUp()}
    >
      <h2 id="sign-in-again">${isOver ? 'Your session has ended' : 'Sign in again'}</h2>
      <p>Nothing that you have typed is lost. What you were doing goes on after you sign in.</p>
      <sign-in-form></sign-in-form>
      <button type="button" class="wa-plain" @click=${() => session.giveUp()}>Not now</button>
    </dialog>`;
  }
}

customElements.define('sign-in-dialog', SignInDialog);
