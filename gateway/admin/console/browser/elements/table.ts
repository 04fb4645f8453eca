import { html, nothing } from 'lit';
import { labelCells } from './label-cells.ts';

/**
 * A table in a region that scrolls sideways by itself, also with the keyboard. On a narrow screen each row is a card.
 * @param options headings: texts, or a whole `<th>` each. region, className: classes of the region and of the table
 */
export const table = ({
  label,
  headings,
  rows,
  region = '',
  className,
}: {
  label: string;
  headings: readonly unknown[];
  rows: unknown;
  region?: string;
  className?: string;
}) =>
  html`<div class="table-scroll ${region}" tabindex="0" role="region" aria-label=${label}>
    <table class=${className ?? nothing} ${labelCells()}>
      <thead>
        <tr>
          ${headings.map((heading) => (typeof heading === 'string' ? html`<th scope="col">${heading}</th>` : heading))}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;

/** The heading of a column of numbers. */
export const numeric = (text: string) => html`<th scope="col" class="number">${text}</th>`;
