import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { ask } from '../elements/confirm-dialog.ts';
import { deliveryTable } from '../elements/delivery-table.ts';
import { openDialog } from '../elements/dialog-element.ts';
import { emptyState, inlineFailure } from '../elements/page-state.ts';
import { PolledElement } from '../elements/polled-element.ts';
import { count, listTable } from '../elements/table.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { WebhookDialog } from '../elements/webhook-dialog.ts';
import { formatRelative, plural } from '../format.ts';
import { keyPath } from '../key.ts';
import type { Changed, Delivery, EventTypeRow, Page, WebhookRow, WebhookWithSecret } from '../responses.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';

const overlapSeconds = 86_400;

interface Webhooks {
  webhooks: WebhookRow[];
  types: EventTypeRow[];
  /** The webhook whose deliveries are shown. */
  chosen: WebhookRow | undefined;
  deliveries: Delivery[];
}

/** Addresses that events are sent to: of operators, or of the customer in the path. */
class PageWebhooks extends PolledElement<Webhooks> {
  static override properties = { item: {} };

  item = '';
  /** Id of the webhook whose deliveries are asked for. */
  chosen = '';

  get path() {
    return url`/api/webhooks/${this.item === '' ? 'operators' : this.item}`;
  }

  override get pauseMs() {
    return 3000;
  }

  async read() {
    const [{ items: webhooks }, types] = await Promise.all([
      api.get<Page<WebhookRow>>(this.path),
      this.content?.types ?? api.get<Page<EventTypeRow>>('/api/event-types').then(({ items }) => items),
    ]);
    const chosen = webhooks.find(({ id }) => id === this.chosen) ?? webhooks[0];
    const deliveries =
      chosen === undefined
        ? []
        : (await api.get<Page<Delivery>>(`${this.path}/${chosen.id}/deliveries`)).items;
    return { webhooks, types, chosen, deliveries };
  }

  /** Makes a change of one webhook, and shows on the page why it failed. */
  make<T extends Changed>(change: () => Promise<T>, said: string | ((result: T) => string)) {
    void this.act(() => this.saved(change(), said));
  }

  edit(webhook?: WebhookRow) {
    const isNew = webhook === undefined;
    openDialog(this, WebhookDialog, {
      heading: isNew ? 'Add a webhook' : 'Change the webhook',
      action: isNew ? 'Add' : 'Save',
      path: this.path,
      webhook,
      types: (this.content?.types ?? []).filter(
        ({ type, forOperators }) => type !== 'webhook.test' && (this.item === '' || !forOperators),
      ),
      done: () => this.reload(),
    });
  }

  askToRotate({ id }: WebhookRow) {
    ask(this, {
      heading: 'Replace the secret?',
      action: 'Replace it',
      message: () =>
        html`<p>For 24 hours events are signed with both, so that the receiver can change over.</p>`,
      run: async () => {
        const path = `${this.path}/${id}/rotate-secret`;
        const made = await api.post<WebhookWithSecret>(path, { overlapSeconds });
        openDialog(this, WebhookDialog, { heading: 'The secret of the webhook', made });
      },
    });
  }

  askToRemove({ id, url: address }: WebhookRow) {
    ask(this, {
      heading: 'Remove the webhook?',
      action: 'Remove',
      danger: true,
      message: () => html`<p>${address} gets nothing any more. What it has yet to get is deleted.</p>`,
      run: () => this.saved(api.delete<Changed>(`${this.path}/${id}`), 'The webhook is removed.'),
    });
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
      ${viewerNote()} ${inlineFailure(this.failure)} ${super.render()}`;
  }

  view({ webhooks, chosen, deliveries }: Webhooks) {
    return html`${
      webhooks.length === 0
        ? emptyState('There are no webhooks', 'A webhook is an address that events are sent to.')
        : listTable('Webhooks', webhooks, [
            [
              'Address',
              ({ url: address, description }) =>
                html`${address}
                ${description === null ? nothing : html`<span class="quiet">${description}</span>`}`,
            ],
            ['State', stateText],
            ['Types', ({ types }) => types?.join(', ') ?? 'all'],
            count('Queued', ({ queued }) => queued),
            count('Given up', ({ dead }) => dead),
            [
              html`<span class="wa-visually-hidden">Actions</span>`,
              (webhook) => this.actions(webhook, webhook.id === chosen?.id),
            ],
          ])
    }
    ${
      session.isOperator
        ? html`<div class="actions">
            <button type="button" class="wa-brand" @click=${() => this.edit()}>Add a webhook…</button>
          </div>`
        : nothing
    }
    ${deliveryTable(deliveries, chosen?.url)}`;
  }

  actions(webhook: WebhookRow, isChosen: boolean) {
    const { id, url: address, state, dead } = webhook;
    const path = `${this.path}/${id}`;
    const button = (text: string, action: () => void) =>
      html`<button type="button" aria-label=${`${text} ${address}`} ?disabled=${this.busy} @click=${action}>
        ${text}
      </button> `;
    const isOn = state === 'on' || state === 'failing';
    return html`<div class="actions">
      <button
        type="button"
        aria-label=${`Deliveries of ${address}`}
        aria-pressed=${isChosen}
        @click=${() => {
          this.chosen = id;
          this.reload();
        }}
      >
        Deliveries
      </button>
      ${
        session.isOperator
          ? html`${button('Test', () =>
              this.make(() => api.post<Changed>(`${path}/test`), 'A test is on its way: see its deliveries.'),
            )}
            ${button(isOn ? 'Switch off' : 'Switch on', () =>
              this.make(
                () => api.patch<Changed>(path, { enabled: !isOn }),
                isOn ? 'It gets nothing now.' : 'It gets events again.',
              ),
            )}
            ${
              dead === 0
                ? nothing
                : button('Replay', () =>
                    this.make(
                      () => api.post<Changed<{ replayed: number }>>(`${path}/replay`, {}),
                      ({ replayed }) => `${plural(replayed, 'event')} will be sent again.`,
                    ),
                  )
            }
            ${button('Change…', () => this.edit(webhook))}
            ${button('Replace secret…', () => this.askToRotate(webhook))}
            ${button('Remove…', () => this.askToRemove(webhook))}`
          : nothing
      }
    </div>`;
  }
}

function stateText({ state, failingSince }: WebhookRow) {
  const isBad = state === 'failing' || state === 'disabled';
  return html`<span class=${isBad ? 'failure-text' : ''}
    >${state}${failingSince === null ? nothing : html` since ${formatRelative(failingSince)}`}</span
  >`;
}

customElements.define('page-webhooks', PageWebhooks);
