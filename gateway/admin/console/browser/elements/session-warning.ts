import { html, nothing } from 'lit';
import { LightElement } from '../../../../browser/elements/light-element.ts';
import { plural } from '../../../../browser/format.ts';
import { session } from '../session.ts';

const minuteMs = 60_000;
const warnMs = 15 * minuteMs;

/** Says that the session ends within 15 minutes, and asks to sign in again when it does. */
class SessionWarning extends LightElement {
  leftMs = Number.POSITIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.whileConnected(() => {
      const unsubscribe = session.subscribe(() => this.update_());
      this.update_();
      return () => {
        unsubscribe();
        clearTimeout(this.#timer);
      };
    });
  }

  update_() {
    clearTimeout(this.#timer);
    this.leftMs = session.endsAtMs - Date.now();
    this.requestUpdate();
    if (this.leftMs > 0) {
      const nextMs = this.leftMs > warnMs ? this.leftMs - warnMs : Math.min(this.leftMs, minuteMs);
      this.#timer = setTimeout(() => this.update_(), nextMs);
    } else if (!session.hasGivenUp && !session.isAsking) void session.signInAgain();
  }

  override render() {
    if (this.leftMs > warnMs && !session.hasGivenUp) return nothing;
    const minutes = Math.ceil(this.leftMs / minuteMs);
    const text =
      minutes > 0 && !session.hasGivenUp
        ? `Your session ends in ${plural(minutes, 'minute')}.`
        : 'Your session has ended.';
    return html`<div class="session-warning" role="status">
      <span>${text}</span>
      <button type="button" @click=${() => void session.signInAgain({ early: !session.hasEnded })}>
        Sign in again
      </button>
    </div>`;
  }
}

customElements.define('session-warning', SessionWarning);
