import { html, nothing } from 'lit';
import { formatNumber } from '../format.ts';
import { labelCells } from './label-cells.ts';

interface TableOptions {
  label: string;
  /** Texts, or a whole `<th>` each. */
  headings: readonly unknown[];
  rows: unknown;
  /** Classes of the region and of the table. */
  region?: string;
  className?: string;
}

/** A table in a region that scrolls sideways by itself, also with the keyboard. On a narrow screen each row is a card. */
export const table = ({ label, headings, rows, region = '', className }: TableOptions) =>
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
export const numeric = (text: unknown) => html`<th scope="col" class="number">${text}</th>`;

/** A column: its heading, and the cell of an item. `name` is the one that names the item, otherwise the first. */
export type Column<Item> = [heading: unknown, cell: (item: Item) => unknown, kind?: 'number' | 'name'];

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
  html`<span class="wa-visually-hidden">Action</span>`,
  (item) =>
    html`<button type="button" aria-label=${nameOf(item)} @click=${() => press(item)}>${text}</button>`,
];

/**
 * A table with a row for each item.
 * @param columns false for one that is not shown
 * @param options headed: whether the first column names the item
 */
export const listTable = <Item>(
  label: string,
  items: readonly Item[],
  columns: readonly (Column<Item> | false)[],
  { headed = true, region = 'wide' }: { headed?: boolean; region?: string } = {},
) => {
  const shown = columns.filter((column) => column !== false);
  const name = headed
    ? Math.max(
        0,
        shown.findIndex(([, , kind]) => kind === 'name'),
      )
    : -1;
  return table({
    label,
    region,
    headings: shown.map(([heading, , kind]) =>
      kind === 'number' ? numeric(heading) : html`<th scope="col">${heading}</th>`,
    ),
    rows: items.map(
      (item) =>
        html`<tr>
          ${shown.map(([, cell, kind], index) => [
            index === name
              ? html`<th scope="row">${cell(item)}</th>`
              : html`<td class=${kind === 'number' ? kind : nothing}>${cell(item)}</td>`,
            // Text that is copied from a row has a space between its cells.
            ' ',
          ])}
        </tr>`,
    ),
  });
};
