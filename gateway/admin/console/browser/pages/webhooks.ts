import '../elements/confirm-dialog.ts';
import '../elements/webhook-dialog.ts';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { ActingElement } from '../elements/acting-element.ts';
import { deliveryTable } from '../elements/delivery-table.ts';
import { showDialog } from '../elements/dialog-element.ts';
import { notify } from '../elements/notice.ts';
import { emptyState, inlineFailure } from '../elements/page-state.ts';
import { numeric, table } from '../elements/table.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { WebhookDialog } from '../elements/webhook-dialog.ts';
import { formatNumber, formatRelative, plural } from '../format.ts';
import { Refresher } from '../refresher.ts';
import type { Changed, Delivery, EventTypeRow, Page, WebhookRow, WebhookWithSecret } from '../responses.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';

const overlapSeconds = 86_400;

/** Addresses that events are sent to: of operators, or of the customer in the path. */
class PageWebhooks extends ActingElement {
  static override properties = {
    item: {},
    webhooks: { state: true },
    types: { state: true },
    chosen: { state: true },
    edited: { state: true },
    deliveries: { state: true },
  };

  item = '';
  webhooks: WebhookRow[] | undefined;
  types: EventTypeRow[] = [];
  /** The webhook whose deliveries are shown. */
  chosen: string | undefined;
  /** The webhook in a dialog. */
  edited: WebhookRow | undefined;
  deliveries: Delivery[] = [];
  refresher = new Refresher(
    this,
    () => this.load(),
    () => 3000,
  );

  get path() {
    return url`/api/webhooks/${this.item === '' ? 'operators' : this.item}`;
  }

  async load() {
    const [webhooks, types] = await Promise.all([
      api.get<Page<WebhookRow>>(this.path),
      this.types.length > 0 ? undefined : api.get<Page<EventTypeRow>>('/api/event-types'),
    ]);
    if (types !== undefined) this.types = types.items;
    this.webhooks = webhooks.items;
    this.chosen = webhooks.items.find(({ id }) => id === this.chosen)?.id ?? webhooks.items[0]?.id;
    if (this.chosen === undefined) this.deliveries = [];
    else this.deliveries = (await api.get<Page<Delivery>>(`${this.path}/${this.chosen}/deliveries`)).items;
  }

  async ask(dialog: string, webhook?: WebhookRow) {
    this.edited = webhook;
    await this.updateComplete;
    showDialog(this, dialog);
  }

  /** Makes a change of one webhook, and says what it was. */
  make<T extends Changed>(change: () => Promise<T>, said: (result: T) => string): void {
    void this.act(async () => {
      const result = await change();
      notify(said(result), result.warnings);
      await this.refresher.now();
    });
  }

  async rotate({ id }: WebhookRow) {
    const made = await api.post<WebhookWithSecret>(`${this.path}/${id}/rotate-secret`, { overlapSeconds });
    const dialog = this.querySelector('webhook-dialog');
    if (dialog instanceof WebhookDialog) dialog.showSecret(made);
  }

  async removeWebhook({ id }: WebhookRow) {
    const { warnings } = await api.delete<Changed>(`${this.path}/${id}`);
    notify('The webhook is removed.', warnings);
    await this.refresher.now();
  }

  override render() {
    const { webhooks, edited, item } = this;
    const types = this.types.filter(
      ({ type, forOperators }) => type !== 'webhook.test' && (item === '' || !forOperators),
    );
    return html`<h1>Webhooks</h1>
      <p class="quiet">
        ${
          item === ''
            ? 'They get the events of all customers, signed.'
            : html`They get the events of <a href=${url`/console/customers/${item}`}>this customer</a>,
                signed.`
        }
      </p>
      ${viewerNote()} ${inlineFailure(this.failure)}
      ${webhooks === undefined ? this.refresher.placeholder() : this.content(webhooks)}
      <webhook-dialog
        .path=${this.path}
        .webhook=${edited}
        .types=${types}
        @changed=${() => void this.refresher.now()}
      ></webhook-dialog>
      <confirm-dialog
        class="rotate"
        heading="Replace the secret?"
        action="Replace it"
        .message=${html`<p>For 24 hours events are signed with both, so that the receiver can change over.</p>`}
        .run=${() => (edited === undefined ? Promise.resolve() : this.rotate(edited))}
      ></confirm-dialog>
      <confirm-dialog
        class="remove"
        heading="Remove the webhook?"
        action="Remove"
        danger
        .message=${html`<p>${edited?.url} gets nothing any more. What it has yet to get is deleted.</p>`}
        .run=${() => (edited === undefined ? Promise.resolve() : this.removeWebhook(edited))}
      ></confirm-dialog>`;
  }

  content(webhooks: WebhookRow[]) {
    const add = session.isOperator
      ? html`<div class="actions">
          <button type="button" class="wa-brand" @click=${() => void this.ask('webhook-dialog')}>
            Add a webhook…
          </button>
        </div>`
      : nothing;
    return html`${inlineFailure(this.refresher.failure)}
    ${
      webhooks.length === 0
        ? emptyState('There are no webhooks', 'A webhook is an address that events are sent to.')
        : table({
            label: 'Webhooks',
            region: 'wide',
            headings: [
              'Address',
              'State',
              'Types',
              numeric('Queued'),
              numeric('Given up'),
              html`<th scope="col"><span class="wa-visually-hidden">Actions</span></th>`,
            ],
            rows: webhooks.map((webhook) => this.row(webhook)),
          })
    }
    ${add} ${deliveryTable(this.deliveries, webhooks.find(({ id }) => id === this.chosen)?.url)}`;
  }

  row(webhook: WebhookRow) {
    const { id, url: address, description, state, failingSince, types, queued, dead } = webhook;
    const since = failingSince === null ? nothing : html` since ${formatRelative(failingSince)}`;
    return html`<tr>
      <th scope="row">
        ${address} ${description === null ? nothing : html`<span class="quiet">${description}</span>`}
      </th>
      <td class=${state === 'failing' || state === 'disabled' ? 'failure-text' : ''}>${state}${since}</td>
      <td>${types?.join(', ') ?? 'all'}</td>
      <td class="number">${formatNumber(queued)}</td>
      <td class="number">${formatNumber(dead)}</td>
      <td>
        <button
          type="button"
          aria-label=${`Deliveries of ${address}`}
          aria-pressed=${this.chosen === id}
          @click=${() => {
            this.chosen = id;
            void this.refresher.now();
          }}
        >
          Deliveries
        </button>
        ${session.isOperator ? this.actions(webhook) : nothing}
      </td>
    </tr>`;
  }

  actions(webhook: WebhookRow) {
    const { id, url: address, state, dead } = webhook;
    const path = `${this.path}/${id}`;
    const button = (text: string, action: () => void) =>
      html`<button type="button" aria-label=${`${text} ${address}`} ?disabled=${this.busy} @click=${action}>
        ${text}
      </button> `;
    const isOn = state === 'on' || state === 'failing';
    return html`${button('Test', () =>
      this.make(
        () => api.post<Changed>(`${path}/test`),
        () => 'A test is on its way: see its deliveries.',
      ),
    )}
    ${button(isOn ? 'Switch off' : 'Switch on', () =>
      this.make(
        () => api.patch<Changed>(path, { enabled: !isOn }),
        () => (isOn ? 'It gets nothing now.' : 'It gets events again.'),
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
    ${button('Change…', () => void this.ask('webhook-dialog', webhook))}
    ${button('Replace secret…', () => void this.ask('.rotate', webhook))}
    ${button('Remove…', () => void this.ask('.remove', webhook))}`;
  }
}

customElements.define('page-webhooks', PageWebhooks);
