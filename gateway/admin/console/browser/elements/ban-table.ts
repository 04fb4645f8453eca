import { html, nothing } from 'lit';
import { formatRelative } from '../format.ts';
import { keyPath } from '../key.ts';
import type { Ban } from '../responses.ts';
import { url } from '../url.ts';
import { table } from './table.ts';

/** @param lift undefined for a viewer */
export const banTable = (label: string, bans: Ban[], lift: ((ban: Ban) => void) | undefined) =>
  table({
    label,
    region: 'wide',
    headings: [
      'Key',
      'Plan',
      'Ends',
      'Reason',
      ...(lift === undefined
        ? []
        : [html`<th scope="col"><span class="wa-visually-hidden">Action</span></th>`]),
    ],
    rows: bans.map((ban) => row(ban, lift)),
  });

function row(ban: Ban, lift: ((ban: Ban) => void) | undefined) {
  const { id, name, plan, reason, endsAt } = ban;
  return html`<tr>
    <th scope="row"><a href=${keyPath(id)}>${name}</a></th>
    <td><a href=${url`/console/plans/${plan}`}>${plan}</a></td>
    <td>${endsAt === null ? 'with its next requests' : formatRelative(endsAt)}</td>
    <td>${reason}</td>
    ${
      lift === undefined
        ? nothing
        : html`<td>
            <button type="button" aria-label=${`Lift the ban of ${name}`} @click=${() => lift(ban)}>
              Lift
            </button>
          </td>`
    }
  </tr>`;
}
