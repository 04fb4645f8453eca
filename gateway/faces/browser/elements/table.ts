import { html, nothing } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { formatNumber } from '../format.ts';

/**
 * A column: its heading, and the cell of an item. `action`: buttons, whose heading only screen readers have; `more`: a menu of
 * them. Where a row is not in columns, a `labelled` text has its heading, and a `minor` one is left out.
 */
export type Column<Item> = readonly [
  heading: string,
  cell: (item: Item) => unknown,
  kind?: '' | 'number' | 'action' | 'more' | 'labelled' | 'minor' | 'number minor',
];

/** A column of numbers. A text stays as it is, and null is a dash. */
export const count = <Item>(
  heading: string,
  cell: (item: Item) => unknown,
  kind: 'number' | 'number minor' = 'number',
): Column<Item> => [
  heading,
  (item) => {
    const value = cell(item) ?? '–';
    return typeof value === 'number' ? formatNumber(value) : value;
  },
  kind,
];

interface TableOptions {
  /** Whether the first column names the item. */
  headed?: boolean;
  /** Class of the region. */
  region?: string;
  /** What there is in place of a table without items. */
  none?: unknown;
}

/**
 * A table with a row for each item, in a region that scrolls sideways by itself, also with the keyboard. On a narrow screen
 * each row is its name and a line below it, and roles stay those of a table.
 * @param given false for a column that is not shown
 */
export function listTable<Item extends object>(
  label: string,
  items: readonly Item[],
  given: readonly (Column<Item> | false)[],
  { headed = true, region = '', none = '' }: TableOptions = {},
) {
  if (items.length === 0 && none !== '') return html`<p class="quiet">${none}</p>`;
  const columns = given.filter((column) => column !== false);
  const ids = items.map((item) => ('id' in item ? item.id : undefined));
  const isUnique = new Set(ids).size === ids.length;
  const cellOf = (item: Item, [heading, cell, kind]: Column<Item>, index: number) =>
    headed && index === 0
      ? html`<th scope="row" role="rowheader">${cell(item)}</th> `
      : html`<td role="cell" class=${kind || nothing} data-label=${heading}>${cell(item)}</td> `;
  return html`<div class="table-scroll ${region}" tabindex="0" role="region" aria-label=${label}>
    <table role="table">
      <thead role="rowgroup">
        <tr role="row">
          ${columns.map(
            ([heading, , kind]) =>
              html`<th scope="col" role="columnheader" class=${kind || nothing}><span>${heading}</span></th>`,
          )}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${repeat(
          items,
          (_item, index) => (isUnique ? ids[index] : index),
          (item) =>
            html`<tr role="row">
              ${columns.map((column, index) => cellOf(item, column, index))}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
