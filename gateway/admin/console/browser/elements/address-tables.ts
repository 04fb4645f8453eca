import { html, nothing } from 'lit';
import { formatNumber, formatRelative } from '../format.ts';
import type { BlockView, BusyAddress } from '../responses.ts';
import { numeric, table } from './table.ts';

const actionHeading = html`<th scope="col"><span class="wa-visually-hidden">Action</span></th>`;

/** @param block undefined for a viewer */
export const busyAddressTable = (
  addresses: readonly BusyAddress[],
  block: ((address: string) => void) | undefined,
) =>
  table({
    label: 'Most refused addresses',
    region: 'wide',
    headings: [
      'Address',
      numeric('Refused in the last minute'),
      numeric('Without a valid key'),
      numeric('Over the limit'),
      numeric('Blocked'),
      'Blocked until',
      ...(block === undefined ? [] : [actionHeading]),
    ],
    rows: addresses.map(
      ({ address, refused, unauthenticated, limited, blocked, blockedUntil }) =>
        html`<tr>
          <th scope="row">${address}</th>
          <td class="number">${formatNumber(refused)}</td>
          <td class="number">${formatNumber(unauthenticated)}</td>
          <td class="number">${formatNumber(limited)}</td>
          <td class="number">${formatNumber(blocked)}</td>
          <td>
            ${blockedUntil === null ? html`<span class="quiet">not blocked</span>` : formatRelative(blockedUntil)}
          </td>
          ${
            block === undefined
              ? nothing
              : html`<td>
                  <button type="button" aria-label=${`Block ${address}`} @click=${() => block(address)}>
                    Block…
                  </button>
                </td>`
          }
        </tr>`,
    ),
  });

/** @param unblock undefined for a viewer */
export const blockTable = (blocks: readonly BlockView[], unblock: ((block: BlockView) => void) | undefined) =>
  table({
    label: 'Blocked addresses',
    region: 'wide',
    headings: ['Address or network', 'Ends', 'Reason', ...(unblock === undefined ? [] : [actionHeading])],
    rows: blocks.map(
      (block) =>
        html`<tr>
          <th scope="row">${block.network}</th>
          <td>${formatRelative(block.endsAt)}</td>
          <td>${block.reason}</td>
          ${
            unblock === undefined
              ? nothing
              : html`<td>
                  <button
                    type="button"
                    aria-label=${`Unblock ${block.network}`}
                    @click=${() => unblock(block)}
                  >
                    Unblock
                  </button>
                </td>`
          }
        </tr>`,
    ),
  });
