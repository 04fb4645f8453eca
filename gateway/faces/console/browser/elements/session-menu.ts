import { html, nothing } from 'lit';
import { ActingElement } from '../../../browser/elements/acting-element.ts';
import { inlineFailure } from '../../../browser/elements/page-state.ts';
import { formatTime } from '../../../browser/format.ts';
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

  close() {
    this.querySelector<HTMLElement>('[popover]')?.hidePopover();
  }

  override render() {
    const { current } = session;
    if (current === undefined) return nothing;
    return html`<button type="button" class="plain" popovertarget="session-menu">
        ${current.name}${current.role === 'viewer' ? ' (viewer)' : nothing} <span aria-hidden="true">▾</span>
      </button>
      <div class="menu" id="session-menu" popover>
        <p>
          ${current.role === 'operator' ? 'Operator: can change everything' : 'Viewer: can change nothing'}
        </p>
        <p>Session ends ${formatTime(current.expiresAt)}</p>
        <p class="quiet">Version ${current.version}</p>
        <p><a href="/console/sessions" @click=${this.close}>Who is signed in</a></p>
        <button type="button" @click=${this.signOut}>Sign out</button>
        ${inlineFailure(this.failure)}
      </div>`;
  }
}

customElements.define('session-menu', SessionMenu);
