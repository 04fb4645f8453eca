import { html, nothing } from 'lit';
import { ActingElement } from '../../../../browser/elements/acting-element.ts';
import { inlineFailure } from '../../../../browser/elements/page-state.ts';
import { formatTime } from '../../../../browser/format.ts';
import { session } from '../session.ts';

/** Who is signed in, until when, and the way out. */
class SessionMenu extends ActingElement {
  constructor() {
    super();
    this.whileConnected(() => session.subscribe(() => this.requestUpdate()));
  }

  async signOut() {
    await this.act(() => session.signOut());
  }

  closeOnEscape(event: KeyboardEvent) {
    if (event.key !== 'Escape') return;
    this.close();
    this.querySelector('summary')?.focus();
  }

  closeOnLeave({ relatedTarget }: FocusEvent) {
    if (!(relatedTarget instanceof Node) || !this.contains(relatedTarget)) this.close();
  }

  close() {
    this.querySelector('details')?.removeAttribute('open');
  }

  override render() {
    const { current } = session;
    if (current === undefined) return nothing;
    return html`<details class="menu" @keydown=${this.closeOnEscape} @focusout=${this.closeOnLeave}>
      <summary>${current.name}${current.role === 'viewer' ? ' (viewer)' : nothing}</summary>
      <div class="menu-body" tabindex="-1">
        <p>
          ${current.role === 'operator' ? 'Operator: can change everything' : 'Viewer: can change nothing'}
        </p>
        <p>Session ends ${formatTime(current.expiresAt)}</p>
        <p class="quiet">Version ${current.version}</p>
        <p><a href="/console/sessions" @click=${this.close}>Who is signed in</a></p>
        <button type="button" @click=${this.signOut}>Sign out</button>
        ${inlineFailure(this.failure)}
      </div>
    </details>`;
  }
}

customElements.define('session-menu', SessionMenu);
