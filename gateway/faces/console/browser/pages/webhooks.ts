import { html, nothing } from 'lit';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { checkbox, field } from '../../../browser/elements/fields.ts';
import { menuColumn, type Action } from '../../../browser/elements/menu.ts';
import { emptyState } from '../../../browser/elements/page-state.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { stateTag } from '../../../browser/elements/state-tag.ts';
import { count, listTable } from '../../../browser/elements/table.ts';
import { formatRelative } from '../../../browser/format.ts';
import type { Changed, Page } from '../../../browser/responses.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { pageHead } from '../elements/viewer-note.ts';
import { keyLink } from '../key.ts';
import type { Delivery, EventTypeRow, WebhookRow, WebhookWithSecret } from '../responses.ts';
import { session } from '../session.ts';

interface Webhooks {
  webhooks: WebhookRow[];
  types: EventTypeRow[];
  /** The webhook whose deliveries are shown. */
  chosen: WebhookRow | undefined;
  deliveries: Delivery[];
}

/** Addresses that events are sent to, and what was sent. */
class PageWebhooks extends PolledElement<Webhooks> {
  /** Id of the webhook whose deliveries are asked for. */
  chosen = '';

  override get pauseMs() {
    return 3000;
  }

  async read() {
    const [{ items: webhooks }, types] = await Promise.all([
      api.get<Page<WebhookRow>>('/api/webhooks'),
      this.content?.types ?? api.get<Page<EventTypeRow>>('/api/event-types').then(({ items }) => items),
    ]);
    const chosen = webhooks.find(({ id }) => id === this.chosen) ?? webhooks[0];
    const deliveries =
      chosen === undefined
        ? []
        : (await api.get<Page<Delivery>>(url`/api/webhooks/${chosen.id}/deliveries`)).items;
    return { webhooks, types, chosen, deliveries };
  }

  edit(webhook?: WebhookRow) {
    askForWebhook(this, this.content?.types ?? [], webhook);
  }

  askToRemove({ id, url: address }: WebhookRow) {
    ask(this, {
      heading: 'Remove the webhook?',
      action: 'Remove',
      danger: true,
      message: () => html`<p>${address} gets nothing any more. What it has yet to get is dropped.</p>`,
      run: () => this.saved(api.delete<Changed>(url`/api/webhooks/${id}`), 'The webhook is removed.'),
    });
  }

  override render() {
    return html`${pageHead('Webhooks', 'Add a webhook…', () => this.edit())}
      <p class="quiet">They get events of all customers or of one, signed.</p>
      ${super.render()}`;
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
            ['State', stateCell],
            ['Customer', ({ customerId }) => customerCell(customerId, 'all'), 'labelled'],
            ['Types', ({ types }) => types?.join(', ') ?? 'all', 'labelled'],
            menuColumn<WebhookRow>(
              ({ url: address }) => address,
              (webhook) => this.actions(webhook),
            ),
          ])
    }
    ${chosen === undefined ? nothing : deliveryTable(deliveries, chosen.url)}`;
  }

  actions(webhook: WebhookRow): Action[] {
    const { id, state } = webhook;
    const path = url`/api/webhooks/${id}`;
    const isOn = state === 'on' || state === 'failing';
    const show = {
      text: 'Show deliveries',
      act: () => {
        this.chosen = id;
        void this.reload();
      },
    };
    if (!session.isOperator) return [show];
    return [
      show,
      {
        text: 'Send a test',
        act: () =>
          this.make(() => api.post<Changed>(`${path}/test`), 'A test is on its way: see its deliveries.'),
      },
      {
        text: isOn ? 'Switch off' : 'Switch on',
        act: () =>
          this.make(
            () => api.patch<Changed>(path, { enabled: !isOn }),
            isOn ? 'It gets nothing now.' : 'It gets events again.',
          ),
      },
      { text: 'Change…', act: () => this.edit(webhook) },
      { text: 'Remove…', isDanger: true, act: () => this.askToRemove(webhook) },
    ];
  }
}

const stateCell = ({ state, failingSince, disabledBecause }: WebhookRow) =>
  html`${stateTag(state)} ${failingSince === null ? nothing : html`since ${formatRelative(failingSince)}`}
  ${disabledBecause}`;

const customerCell = (id: string | null, none: string) => (id === null ? none : keyLink({ id, name: '' }));

/** The last attempts to deliver events to an address. */
const deliveryTable = (deliveries: readonly Delivery[], address: string) =>
  html`<h2>Deliveries to ${address}</h2>
    ${
      deliveries.length === 0
        ? html`<p class="quiet">Nothing was sent yet.</p>`
        : listTable(
            'Deliveries',
            deliveries,
            [
              ['When', ({ at }) => formatRelative(at)],
              ['Type', ({ type }) => type],
              ['Customer', ({ customerId }) => customerCell(customerId, '–')],
              count('Attempt', ({ attempt }) => attempt),
              [
                'Outcome',
                ({ outcome, error, status }) =>
                  html`<span class=${outcome === 'delivered' ? '' : 'failure-text'}
                    >${outcome}: ${error ?? `status ${status}`}</span
                  >`,
              ],
              count('ms', ({ ms }) => ms),
              ['Event', ({ eventId }) => html`<code>${eventId}</code>`, 'minor'],
            ],
            { headed: false },
          )
    }`;

customElements.define('page-webhooks', PageWebhooks);

/** Adds a webhook, and shows its secret, or changes one. @param webhook the one to change */
const askForWebhook = (page: PolledElement<unknown>, types: readonly EventTypeRow[], webhook?: WebhookRow) =>
  ask(page, {
    heading: webhook === undefined ? 'Add a webhook' : 'Change the webhook',
    action: webhook === undefined ? 'Add' : 'Save',
    message: () =>
      html`${field('Address', 'url', {
          type: 'url',
          required: true,
          autofocus: true,
          maxlength: 1000,
          placeholder: 'https://example.com/hook',
          value: webhook?.url,
        })}
        ${
          webhook === undefined
            ? field('Customer (empty for all customers)', 'customerId', { placeholder: 'cus_…' })
            : nothing
        }
        ${field('Description', 'description', { value: webhook?.description ?? '' })}
        <fieldset>
          <legend>Types of events; none chosen is all of them</legend>
          ${types.map(({ type, summary }) =>
            checkbox(html`<span><code>${type}</code> <span class="quiet">${summary}</span></span>`, type, {
              checked: webhook?.types?.includes(type) ?? false,
            }),
          )}
        </fieldset>`,
    run: async (form) => {
      const chosen = types.map(({ type }) => type).filter((type) => form(type) !== '');
      const wanted = {
        url: form('url'),
        types: chosen.length === 0 ? null : chosen,
        description: form('description') || null,
      };
      if (webhook !== undefined) {
        const change = api.patch<Changed>(url`/api/webhooks/${webhook.id}`, wanted);
        return page.saved(change, 'The webhook is changed.');
      }
      const customerId = form('customerId') || null;
      const made = await api.post<WebhookWithSecret>('/api/webhooks', { ...wanted, customerId });
      void page.reload();
      return {
        noun: 'secret',
        label: 'Secret',
        text: made.secret,
        about: html`It signs the events for <strong>${made.url}</strong>, and
          <strong>is not shown again</strong>. The receiver needs it to check them.`,
        warnings: made.warnings,
      };
    },
  });
