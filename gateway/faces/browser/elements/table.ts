import { html, nothing } from 'lit';
import { repeat } from 'lit/directives/repeat.js';
import { formatNumber } from '../format.ts';
import { LightElement } from './light-element.ts';

/**
 * A column: its heading, the cell of an item, and what rows are sorted by if that is not the cell. `action`: buttons, whose
 * heading only screen readers have; `more`: a menu of them. Where a row is not in columns, a `labelled` text has its
 * heading, and a `minor` one is left out.
 */
export type Column<Item> = readonly [
  heading: string,
  cell: (item: Item) => unknown,
  kind?: '' | 'number' | 'action' | 'more' | 'labelled' | 'minor' | 'number minor',
  by?: (item: Item) => unknown,
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
  cell,
];

interface TableOptions {
  /** Whether the first column names the item, and rows can be sorted. If not, they are in the order of time. */
  headed?: boolean;
  /** Class of the region; `figures` are those of a chart, in the order of time. */
  region?: string;
  /** What there is in place of a table without items. */
  none?: unknown;
}

/**
 * A table with a row for each item, in a region that scrolls sideways by itself, also with the keyboard. On a narrow screen
 * each row is its name and a line below it, and roles stay those of a table.
 * @param columns false for one that is not shown
 */
export const listTable = <Item extends object>(
  label: string,
  items: readonly Item[],
  columns: readonly (Column<Item> | false)[],
  { headed = true, region = '', none = '' }: TableOptions = {},
) =>
  items.length === 0 && none !== ''
    ? html`<p class="quiet">${none}</p>`
    : html`<list-table
        .label=${label}
        .items=${items}
        .columns=${columns.filter((column) => column !== false)}
        .headed=${headed}
        .region=${region}
      ></list-table>`;

const collator = new Intl.Collator(undefined, { numeric: true });

class ListTable<Item extends object> extends LightElement {
  label = '';
  items: readonly Item[] = [];
  columns: readonly Column<Item>[] = [];
  headed = true;
  region = '';
  /** What the person sorts by. */
  sorted: { heading: string; isDown: boolean } | undefined;

  /** Numbers begin with the largest one. */
  sortBy(column: Column<Item>) {
    const [heading] = column;
    const isSame = this.sorted?.heading === heading;
    const isNumber = this.items.some((item) => typeof valueOf(column, item) === 'number');
    this.sorted = { heading, isDown: isSame ? !this.sorted?.isDown : isNumber };
  }

  /** The items in the order that was asked for. Those without a value come last in either one. */
  rows() {
    const { sorted } = this;
    const column = this.columns.find(([heading]) => heading === sorted?.heading);
    if (sorted === undefined || column === undefined) return this.items;
    const sign = sorted.isDown ? -1 : 1;
    return this.items.toSorted((one, other) => {
      const [a, b] = [valueOf(column, one), valueOf(column, other)];
      if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
      const order = typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(`${a}`, `${b}`);
      return sign * order;
    });
  }

  heading(column: Column<Item>) {
    const [heading, , kind] = column;
    const isSortable =
      this.headed &&
      this.region !== 'figures' &&
      this.items.length > 1 &&
      this.items.some((item) => valueOf(column, item) !== undefined);
    const order = this.sorted?.isDown ? 'descending' : 'ascending';
    return html`<th
      scope="col"
      role="columnheader"
      class=${kind || nothing}
      aria-sort=${isSortable && this.sorted?.heading === heading ? order : nothing}
    >
      ${
        isSortable
          ? html`<button type="button" class="sort" @click=${() => this.sortBy(column)}>${heading}</button>`
          : html`<span>${heading}</span>`
      }
    </th>`;
  }

  cell(item: Item, [heading, cell, kind]: Column<Item>, index: number) {
    if (this.headed && index === 0) return html`<th scope="row" role="rowheader">${cell(item)}</th> `;
    return html`<td role="cell" class=${kind || nothing} data-label=${heading}>${cell(item)}</td> `;
  }

  override render() {
    const { label, columns, region } = this;
    const rows = this.rows();
    const ids = rows.map((item) => ('id' in item ? item.id : undefined));
    const isUnique = new Set(ids).size === ids.length;
    return html`<div class="table-scroll ${region}" tabindex="0" role="region" aria-label=${label}>
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            ${columns.map((column) => this.heading(column))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${repeat(
            rows,
            (_item, index) => (isUnique ? ids[index] : index),
            (item) =>
              html`<tr role="row">
                ${columns.map((column, index) => this.cell(item, column, index))}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  }
}

/** What a column is sorted by; undefined for an item without it, and in a column of anything but texts and numbers. */
function valueOf<Item>([, cell, kind, by = cell]: Column<Item>, item: Item) {
  const value = kind === 'action' || kind === 'more' ? undefined : by(item);
  return typeof value === 'number' || (typeof value === 'string' && value !== '') ? value : undefined;
}

customElements.define('list-table', ListTable);
