import { html } from 'lit';
import { WebhookList } from '../../../../browser/elements/webhook-list.ts';
import { url } from '../../../../browser/url.ts';
import { api } from '../api.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { keyLink, keyPath } from '../key.ts';
import type { EventTypeRow } from '../responses.ts';
import { session } from '../session.ts';

/** Addresses that events are sent to: of operators, or of the customer in the path. */
class PageWebhooks extends WebhookList {
  static override properties = { item: {} };

  readonly api = api;
  readonly typesPath = '/api/event-types';
  item = '';

  get path() {
    return url`/api/webhooks/${this.item === '' ? 'operators' : this.item}`;
  }

  get canChange() {
    return session.isOperator;
  }

  override offers(type: EventTypeRow) {
    return super.offers(type) && (this.item === '' || !type.forOperators);
  }

  override get pauseMs() {
    return 3000;
  }

  override get customerCell() {
    return (id: string | null) => (id === null ? '–' : keyLink({ id, name: '' }));
  }

  override render() {
    const { item } = this;
    return html`<h1>Webhooks</h1>
      <p class="quiet">
        ${
          item === ''
            ? 'They get the events of all customers, signed.'
            : html`They get the events of <a href=${keyPath(item)}>this customer</a>, signed.`
        }
      </p>
      ${viewerNote()} ${super.render()}`;
  }
}

customElements.define('page-webhooks', PageWebhooks);
