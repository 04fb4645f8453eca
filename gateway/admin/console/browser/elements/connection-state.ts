import { html } from 'lit';
import { live } from '../live.ts';
import { LightElement } from './light-element.ts';

/** Says while nothing live arrives, as when the gateway restarts. */
class ConnectionState extends LightElement {
  static properties = { lost: { state: true } };

  constructor() {
    super();
    this.lost = false;
  }

  connectedCallback() {
    super.connectedCallback();
    live.start();
    // Before the first connection nothing is lost yet.
    this.unsubscribe = live.onConnection(() => (this.lost = !live.isConnected));
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.unsubscribe?.();
  }

  render() {
    return html`<p class="connection-state" role="status">
      ${this.lost ? html`<span class="tag bad">Disconnected, retrying…</span>` : ''}
    </p>`;
  }
}

customElements.define('connection-state', ConnectionState);
