import { html, nothing } from 'lit';
import { formatNumber, formatRelative } from '../format.ts';
import type { Delivery } from '../responses.ts';
import { url } from '../url.ts';
import { numeric, table } from './table.ts';

/** The last attempts to deliver events to an address; nothing without an address. */
export const deliveryTable = (deliveries: readonly Delivery[], address: string | undefined) =>
  address === undefined
    ? nothing
    : html`<h2>Deliveries to ${address}</h2>
        ${
          deliveries.length === 0
            ? html`<p class="quiet">Nothing was sent yet.</p>`
            : table({
                label: 'Deliveries',
                region: 'wide',
                headings: ['When', 'Type', 'Customer', numeric('Attempt'), 'Outcome', numeric('ms'), 'Event'],
                rows: deliveries.map((delivery) => deliveryRow(delivery)),
              })
        }`;

function deliveryRow({ at, type, customerId, attempt, outcome, status, error, ms, eventId }: Delivery) {
  return html`<tr>
    <td>${formatRelative(at)}</td>
    <td>${type}</td>
    <td>
      ${customerId === null ? '–' : html`<a href=${url`/console/customers/${customerId}`}>${customerId}</a>`}
    </td>
    <td class="number">${formatNumber(attempt)}</td>
    <td class=${outcome === 'delivered' ? '' : 'failure-text'}>${outcome}: ${error ?? `status ${status}`}</td>
    <td class="number">${formatNumber(ms)}</td>
    <td><code>${eventId}</code></td>
  </tr>`;
}
