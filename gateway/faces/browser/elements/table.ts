import { html, nothing } from 'lit';
import { formatNumber } from '../format.ts';

/**
 * A column: its heading, and the cell of an item. `action`: buttons, whose heading only screen readers have.
 * `labelled`: a text that says nothing without its heading, where a row is not in columns.  */
export type Column<Item> = [
  heading: string,
  cell: (item: Item) => unknown,
  kind?: 'number' | 'action' | 'labelled',
];

/** A column of numbers. A text stays as it is, and null is a dash. */
export const count = <Item>(heading: string, cell: (item: Item) => unknown): Column<Item> => [
  heading,
  (item) => {
    const value = cell(item) ?? '–';
    return typeof value === 'number' ? formatNumber(value) : value;
  },
  'number',
];

/** A last column with a button for each item. @param nameOf says what the button does to which item */
export const button = <Item>(
  text: string,
  nameOf: (item: Item) => string,
  press: (item: Item) => void,
): Column<Item> => [
  'Action',
  (item) =>
    html`<button type="button" aria-label=${nameOf(item)} @click=${() => press(item)}>${text}</button>`,
  'action',
];

/**
 * A table with a row for each item, in a region that scrolls sideways by itself, also with the keyboard. On a narrow screen
 * each row is a card, in which a cell has the heading of its column before it, and roles stay those of a table.
 * @param columns false for one that is not shown
 * @param options headed: whether the first column names the item; region: class of the region
 */
export function listTable<Item>(
  label: string,
  items: readonly Item[],
  columns: readonly (Column<Item> | false)[],
  { headed = true, region = 'wide' }: { headed?: boolean; region?: string } = {},
) {
  const shown = columns.filter((column) => column !== false);
  const headings = shown.map(
    ([heading, , kind]) =>
      html`<th scope="col" role="columnheader" class=${kind ?? nothing}>
        ${kind === 'action' ? html`<span>${heading}</span>` : heading}
      </th>`,
  );
  const cellOf = (item: Item, [heading, cell, kind]: Column<Item>, index: number) => {
    if (headed && index === 0) return html`<th scope="row" role="rowheader">${cell(item)}</th> `;
    const label = kind === 'action' ? '' : heading;
    return html`<td role="cell" class=${kind ?? nothing} data-label=${label}>${cell(item)}</td> `;
  };
  return html`<div class="table-scroll ${region}" tabindex="0" role="region" aria-label=${label}>
    <table role="table">
      <thead role="rowgroup">
        <tr role="row">
          ${headings}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${items.map(
          (item) =>
            html`<tr role="row">
              ${shown.map((column, index) => cellOf(item, column, index))}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
