import { html, nothing } from 'lit';
import type { Action } from '../../../browser/elements/menu.ts';
import { stateTag } from '../../../browser/elements/state-tag.ts';
import { count, listTable } from '../../../browser/elements/table.ts';
import { formatRelative } from '../../../browser/format.ts';
import type { Page } from '../../../browser/request.ts';
import { api, url } from '../api.ts';
import { ListPage, type Columns } from '../elements/list-page.ts';
import { offer, offersColumn } from '../elements/operation-dialog.ts';
import { keyLink } from '../key.ts';
import type { Delivery, WebhookRow } from '../responses.ts';
import { router } from '../router.ts';

interface Beside {
  /** The webhook whose deliveries are shown. */
  chosen: WebhookRow | undefined;
  deliveries: Delivery[];
}

/** Addresses that events are sent to, and what was sent. */
export class PageWebhooks extends ListPage<WebhookRow, Beside> {
  override readonly none =
    'There are no webhooks. A webhook is an address that events of all customers or of one are sent to, signed.';

  override actions(): Action[] {
    return [offer(this, 'addWebhook')];
  }

  override async read() {
    const listed = await super.read();
    if (listed === undefined) return undefined;
    const asked = router.location.query.get('shown');
    const chosen = listed.items.find(({ id }) => id === asked) ?? listed.items[0];
    const path = url`/api/webhooks/${chosen?.id ?? ''}/deliveries`;
    const deliveries = chosen === undefined ? [] : (await api.get<Page<Delivery>>(path)).items;
    return { ...listed, chosen, deliveries };
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
      offersColumn<WebhookRow>(this, 'webhook'),
    ];
  }

  override view(content: Page<WebhookRow> & Beside) {
    const { chosen, deliveries } = content;
    return html`${super.view(content)}
    ${chosen === undefined ? nothing : deliveryTable(deliveries, chosen.url)}`;
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
