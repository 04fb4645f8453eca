import { html, nothing } from 'lit';
import { formatRelative } from '../format.ts';
import type { Delivery } from '../responses.ts';
import { count, listTable } from './table.ts';

/**
 * The last attempts to deliver events to an address; nothing without an address.
 * @param customerCell of a table that has events of several customers
 */
export const deliveryTable = (
  deliveries: readonly Delivery[],
  address: string | undefined,
  customerCell: ((id: string | null) => unknown) | undefined,
) =>
  address === undefined
    ? nothing
    : html`<h2>Deliveries to ${address}</h2>
        ${
          deliveries.length === 0
            ? html`<p class="quiet">Nothing was sent yet.</p>`
            : listTable(
                'Deliveries',
                deliveries,
                [
                  ['When', ({ at }) => formatRelative(at)],
                  ['Type', ({ type }) => type],
                  customerCell !== undefined && ['Customer', ({ customerId }) => customerCell(customerId)],
                  count('Attempt', ({ attempt }) => attempt),
                  [
                    'Outcome',
                    ({ outcome, error, status }) =>
                      html`<span class=${outcome === 'delivered' ? '' : 'failure-text'}
                        >${outcome}: ${error ?? `status ${status}`}</span
                      >`,
                  ],
                  count('ms', ({ ms }) => ms),
                  ['Event', ({ eventId }) => html`<code>${eventId}</code>`],
                ],
                { headed: false },
              )
        }`;
