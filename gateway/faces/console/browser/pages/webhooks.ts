import { html, nothing } from 'lit';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { checkbox, field } from '../../../browser/elements/fields.ts';
import { menuColumn, type Action } from '../../../browser/elements/menu.ts';
import { stateTag } from '../../../browser/elements/state-tag.ts';
import { count, listTable } from '../../../browser/elements/table.ts';
import type { FormTexts } from '../../../browser/form-text.ts';
import { formatRelative } from '../../../browser/format.ts';
import type { Changed, Page } from '../../../browser/responses.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { ListPage, type Columns } from '../elements/list-page.ts';
import { keyLink } from '../key.ts';
import type { Delivery, EventTypeRow, WebhookRow, WebhookWithSecret } from '../responses.ts';
import { session } from '../session.ts';

interface Beside {
  types: EventTypeRow[];
  /** The webhook whose deliveries are shown. */
  chosen: WebhookRow | undefined;
  deliveries: Delivery[];
}

/** Addresses that events are sent to, and what was sent. */
class PageWebhooks extends ListPage<WebhookRow, Beside> {
  override readonly heading = 'Webhooks';
  override readonly list = '/api/webhooks';
  override readonly none = [
    'There are no webhooks',
    'A webhook is an address that events of all customers or of one are sent to, signed.',
  ] as const;
  /** Id of the webhook whose deliveries are asked for. */
  chosen = '';

  override get makes() {
    return ['Add a webhook…', () => this.askToAdd()] as const;
  }

  override async read() {
    const listed = await super.read();
    if (listed === undefined) return undefined;
    const types = this.content?.types ?? (await api.get<Page<EventTypeRow>>('/api/event-types')).items;
    const chosen = listed.items.find(({ id }) => id === this.chosen) ?? listed.items[0];
    const path = url`/api/webhooks/${chosen?.id ?? ''}/deliveries`;
    const deliveries = chosen === undefined ? [] : (await api.get<Page<Delivery>>(path)).items;
    return { ...listed, types, chosen, deliveries };
  }

  columns(): Columns<WebhookRow> {
    return [
      ['Address', ({ url, description }) => html`${url} <span class="quiet">${description}</span>`],
      [
        'State',
        ({ state, failingSince, disabledBecause }) =>
          html`${stateTag(state)}
          ${failingSince === null ? nothing : html`since ${formatRelative(failingSince)}`} ${disabledBecause}`,
      ],
      ['Customer', ({ customerId }) => customerCell(customerId, 'all'), 'labelled'],
      ['Types', ({ types }) => types?.join(', ') ?? 'all', 'labelled'],
      menuColumn<WebhookRow>(
        ({ url }) => url,
        (webhook) => this.actions(webhook),
      ),
    ];
  }

  override view(content: Page<WebhookRow> & Beside) {
    const { chosen, deliveries } = content;
    return html`${super.view(content)}
    ${chosen === undefined ? nothing : deliveryTable(deliveries, chosen.url)}`;
  }

  actions(webhook: WebhookRow): (Action | false)[] {
    const { id, state } = webhook;
    const path = url`/api/webhooks/${id}`;
    const isOn = state === 'on' || state === 'failing';
    const forOperators: Action[] = [
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
      { text: 'Change…', act: () => this.askToChange(webhook) },
      {
        text: 'Remove…',
        isDanger: true,
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
    const show = () => {
      this.chosen = id;
      void this.reload();
    };
    return [{ text: 'Show deliveries', act: show }, ...(session.isOperator ? forOperators : [])];
  }

  /** Fields of a webhook. */
  fields({ url, description, types }: Partial<WebhookRow> = {}) {
    return html`${field('Address', 'url', {
        type: 'url',
        required: true,
        autofocus: true,
        maxlength: 1000,
        placeholder: 'https://example.com/hook',
        value: url,
      })}
      ${field('Description', 'description', { value: description ?? '' })}
      <fieldset>
        <legend>Types of events; none chosen is all of them</legend>
        ${this.content?.types.map(({ type, summary }) =>
          checkbox(html`<span><code>${type}</code> <span class="quiet">${summary}</span></span>`, type, {
            checked: types?.includes(type) ?? false,
          }),
        )}
      </fieldset>`;
  }

  wanted(form: FormTexts) {
    const types = this.content?.types.map(({ type }) => type).filter((type) => form(type) !== '') ?? [];
    return {
      url: form('url'),
      types: types.length === 0 ? null : types,
      description: form('description') || null,
    };
  }

  askToChange(webhook: WebhookRow) {
    ask(this, {
      heading: 'Change the webhook',
      action: 'Save',
      message: () => this.fields(webhook),
      run: (form) =>
        this.saved(
          api.patch<Changed>(url`/api/webhooks/${webhook.id}`, this.wanted(form)),
          'The webhook is changed.',
        ),
    });
  }

  askToAdd() {
    ask(this, {
      heading: 'Add a webhook',
      action: 'Add',
      message: () =>
        html`${this.fields()}
        ${field('Customer (empty for all customers)', 'customerId', { placeholder: 'cus_…' })}`,
      run: async (form) => {
        const wanted = { ...this.wanted(form), customerId: form('customerId') || null };
        const made = await api.post<WebhookWithSecret>('/api/webhooks', wanted);
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
