import { html } from 'lit';
import { LightElement } from '../../../../browser/elements/light-element.ts';
import { live } from '../live.ts';

/** Says while nothing live arrives, as when the gateway restarts. */
class ConnectionState extends LightElement {
  lost = false;

  constructor() {
    super();
    this.whileConnected(() => {
      live.start();
      // Before the first connection nothing is lost yet.
      return live.onConnection(() => (this.lost = !live.isConnected));
    });
  }

  override render() {
    return html`<p class="connection-state" role="status">
      ${this.lost ? html`<span class="tag bad">Disconnected, retrying…</span>` : ''}
    </p>`;
  }
}

customElements.define('connection-state', ConnectionState);
