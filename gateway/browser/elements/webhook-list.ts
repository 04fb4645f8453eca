import { html, nothing } from 'lit';
import { formatRelative, plural } from '../format.ts';
import type { Changed, Delivery, EventTypeRow, Page, WebhookRow, WebhookWithSecret } from '../responses.ts';
import { ask } from './confirm-dialog.ts';
import { deliveryTable } from './delivery-table.ts';
import { openDialog } from './dialog-element.ts';
import { emptyState, inlineFailure } from './page-state.ts';
import { PolledElement } from './polled-element.ts';
import { count, listTable } from './table.ts';
import { WebhookDialog, type JsonApi } from './webhook-dialog.ts';

const overlapSeconds = 86_400;

interface Webhooks {
  webhooks: WebhookRow[];
  types: EventTypeRow[];
  /** The webhook whose deliveries are shown. */
  chosen: WebhookRow | undefined;
  deliveries: Delivery[];
}

/** Webhooks of an owner, and what was sent to them. A subclass says by which API, and shows it below its heading. */
export abstract class WebhookList extends PolledElement<Webhooks> {
  abstract readonly api: JsonApi;
  /** Id of the webhook whose deliveries are asked for. */
  chosen = '';
  /** Whether changes have a reason, for the audit log. */
  asksReason = true;

  /** Path of the webhooks of the owner in the API. */
  abstract readonly path: string;
  abstract readonly typesPath: string;
  /** Whether the person may change something. */
  abstract readonly canChange: boolean;

  /** Who has caused an event, in a list with those of several customers. */
  get customerCell(): ((id: string | null) => unknown) | undefined {
    return undefined;
  }

  /** Whether a webhook can ask for a type. */
  offers({ type }: EventTypeRow) {
    return type !== 'webhook.test';
  }

  async read() {
    const { api, path, typesPath } = this;
    const [{ items: webhooks }, types] = await Promise.all([
      api.get<Page<WebhookRow>>(path),
      this.content?.types ?? api.get<Page<EventTypeRow>>(typesPath).then(({ items }) => items),
    ]);
    const chosen = webhooks.find(({ id }) => id === this.chosen) ?? webhooks[0];
    const deliveries =
      chosen === undefined ? [] : (await api.get<Page<Delivery>>(`${path}/${chosen.id}/deliveries`)).items;
    return { webhooks, types, chosen, deliveries };
  }

  /** Makes a change of one webhook, and shows on the page why it failed. */
  make<T extends Changed>(change: () => Promise<T>, said: string | ((result: T) => string)) {
    void this.act(() => this.saved(change(), said));
  }

  edit(webhook?: WebhookRow) {
    const { api, path, asksReason, content } = this;
    const isNew = webhook === undefined;
    openDialog(this, WebhookDialog, {
      heading: isNew ? 'Add a webhook' : 'Change the webhook',
      action: isNew ? 'Add' : 'Save',
      api,
      path,
      asksReason,
      webhook,
      types: (content?.types ?? []).filter((type) => this.offers(type)),
      done: () => this.reload(),
    });
  }

  askToRotate({ id }: WebhookRow) {
    const { api, path, asksReason } = this;
    ask(this, {
      heading: 'Replace the secret?',
      action: 'Replace it',
      asksReason,
      message: () =>
        html`<p>For 24 hours events are signed with both, so that the receiver can change over.</p>`,
      run: async () => {
        const made = await api.post<WebhookWithSecret>(`${path}/${id}/rotate-secret`, { overlapSeconds });
        openDialog(this, WebhookDialog, { heading: 'The secret of the webhook', made });
      },
    });
  }

  askToRemove({ id, url: address }: WebhookRow) {
    const { api, path, asksReason } = this;
    ask(this, {
      heading: 'Remove the webhook?',
      action: 'Remove',
      danger: true,
      asksReason,
      message: () => html`<p>${address} gets nothing any more. What it has yet to get is deleted.</p>`,
      run: () => this.saved(api.delete<Changed>(`${path}/${id}`), 'The webhook is removed.'),
    });
  }

  view({ webhooks, chosen, deliveries }: Webhooks) {
    return html`${inlineFailure(this.failure)}
    ${
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
      this.canChange
        ? html`<div class="actions">
            <button type="button" class="wa-brand" @click=${() => this.edit()}>Add a webhook…</button>
          </div>`
        : nothing
    }
    ${deliveryTable(deliveries, chosen?.url, this.customerCell)}`;
  }

  actions(webhook: WebhookRow, isChosen: boolean) {
    const { id, url: address, state, dead } = webhook;
    const { api } = this;
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
        this.canChange
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
