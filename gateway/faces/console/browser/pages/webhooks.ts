import { html, nothing } from 'lit';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { checkbox, field } from '../../../browser/elements/fields.ts';
import { menuColumn, type Action } from '../../../browser/elements/menu.ts';
import { stateTag } from '../../../browser/elements/state-tag.ts';
import { count, listTable } from '../../../browser/elements/table.ts';
import { formatRelative } from '../../../browser/format.ts';
import type { Changed, Page } from '../../../browser/responses.ts';
import { api, url } from '../api.ts';
import { ListPage, type Columns } from '../elements/list-page.ts';
import { keyLink } from '../key.ts';
import type { Delivery, EventTypeRow, WebhookRow, WebhookWithSecret } from '../responses.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';

interface Beside {
  types: EventTypeRow[];
  /** The webhook whose deliveries are shown. */
  chosen: WebhookRow | undefined;
  deliveries: Delivery[];
}

/** Addresses that events are sent to, and what was sent. */
class PageWebhooks extends ListPage<WebhookRow, Beside> {
  override readonly none =
    'There are no webhooks. A webhook is an address that events of all customers or of one are sent to, signed.';

  override actions(): Action[] {
    return [{ text: 'New webhook…', tone: 'primary', act: () => this.askFor() }];
  }

  override async read() {
    const listed = await super.read();
    if (listed === undefined) return undefined;
    const types = this.content?.types ?? (await api.get<Page<EventTypeRow>>('/api/event-types')).items;
    const asked = router.location.query.get('shown');
    const chosen = listed.items.find(({ id }) => id === asked) ?? listed.items[0];
    const path = url`/api/webhooks/${chosen?.id ?? ''}/deliveries`;
    const deliveries = chosen === undefined ? [] : (await api.get<Page<Delivery>>(path)).items;
    return { ...listed, types, chosen, deliveries };
  }

  override columns(): Columns<WebhookRow> {
    return [
      [
        'Address',
        (webhook) =>
          html`<a href=${url`/console/webhooks?shown=${webhook.id}`}>${webhook.url}</a>
            <span class="quiet">${webhook.description}</span>`,
      ],
      [
        'State',
        ({ state, failingSince, disabledBecause }) =>
          html`${stateTag(state)}
          ${failingSince === null ? nothing : html`since ${formatRelative(failingSince)}`} ${disabledBecause}`,
      ],
      ['Customer', ({ customerId }) => customerCell(customerId, 'all'), 'labelled'],
      ['Types', ({ types }) => types?.join(', ') ?? 'all', 'labelled'],
      session.isOperator &&
        menuColumn<WebhookRow>(
          ({ url }) => url,
          (webhook) => this.rowActions(webhook),
        ),
    ];
  }

  override view(content: Page<WebhookRow> & Beside) {
    const { chosen, deliveries } = content;
    return html`${super.view(content)}
    ${chosen === undefined ? nothing : deliveryTable(deliveries, chosen.url)}`;
  }

  rowActions(webhook: WebhookRow): Action[] {
    const { id, state } = webhook;
    const path = url`/api/webhooks/${id}`;
    const isOn = state === 'on' || state === 'failing';
    return [
      {
        text: 'Send a test',
        act: () => this.make(() => api.post(`${path}/test`), 'A test is on its way: see its deliveries.'),
      },
      {
        text: isOn ? 'Switch off' : 'Switch on',
        act: () =>
          this.make(
            () => api.patch(path, { enabled: !isOn }),
            isOn ? 'It gets nothing now.' : 'It gets events again.',
          ),
      },
      { text: 'Change…', act: () => this.askFor(webhook) },
      {
        text: 'Remove…',
        tone: 'danger',
        act: () =>
          this.confirm({
            heading: 'Remove the webhook?',
            action: 'Remove',
            says: `${webhook.url} gets nothing any more. What it has yet to get is dropped.`,
            change: () => api.delete(path),
            done: 'The webhook is removed.',
          }),
      },
    ];
  }

  /** Adds a webhook, and shows its secret, or changes one. @param webhook the one to change */
  askFor(webhook?: WebhookRow) {
    const types = this.content?.types ?? [];
    ask(this, {
      heading: webhook === undefined ? 'New webhook' : 'Change the webhook',
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
          return this.saved(change, 'The webhook is changed.');
        }
        const customerId = form('customerId') || null;
        const made = await api.post<WebhookWithSecret>('/api/webhooks', { ...wanted, customerId });
        void this.reload();
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
  }
}

const customerCell = (id: string | null, none: string) => (id === null ? none : keyLink({ id, name: '' }));

/** The last attempts to deliver events to an address. */
const deliveryTable = (deliveries: readonly Delivery[], address: string) =>
  html`<h2>Deliveries to ${address}</h2>
    ${listTable(
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
      { headed: false, none: 'Nothing was sent yet.' },
    )}`;

customElements.define('page-webhooks', PageWebhooks);
