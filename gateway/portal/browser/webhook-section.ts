import { html } from 'lit';
import { WebhookList } from '../../browser/elements/webhook-list.ts';
import { api } from './api.ts';

/** Addresses that events of the customer are sent to. */
class WebhookSection extends WebhookList {
  readonly api = api;
  readonly path = '/webhooks';
  readonly typesPath = '/event-types';
  override readonly asksReason = false;
  canChange = true;

  override render() {
    return html`<h2>Webhooks</h2>
      <p class="quiet">
        Your server gets an event when a limit is nearly used up, or when a key changes or is about to expire.
      </p>
      ${super.render()}`;
  }
}

customElements.define('webhook-section', WebhookSection);
