import { html, nothing } from 'lit';
import { formatTime } from '../format.js';
import { session } from '../session.js';
import { LightElement } from './light-element.js';

/** Who is signed in, until when, and the way out. */
class SessionMenu extends LightElement {
  connectedCallback() {
    super.connectedCallback();
    this.unsubscribe = session.subscribe(() => this.requestUpdate());
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.unsubscribe?.();
  }

  render() {
    const { current } = session;
    if (current === undefined) return nothing;
    return html`<details class="menu">
      <summary>${current.name}</summary>
      <div class="menu-body">
        <p>
          ${current.role === 'operator' ? 'Operator: can change everything' : 'Viewer: can change nothing'}
        </p>
        <p>Session ends ${formatTime(current.expiresAt)}</p>
        <p class="quiet">Version ${current.version}</p>
        <button type="button" @click=${() => void session.signOut()}>Sign out</button>
      </div>
    </details>`;
  }
}

customElements.define('session-menu', SessionMenu);
