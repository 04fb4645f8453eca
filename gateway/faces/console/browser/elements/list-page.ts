import { html, nothing } from 'lit';
import { emptyState } from '../../../browser/elements/page-state.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { listTable, type Column } from '../../../browser/elements/table.ts';
import { api } from '../api.ts';
import type { Page } from '../responses.ts';
import { router } from '../router.ts';
import { pageHead } from './viewer-note.ts';

const pageSize = 50;

export type Columns<Row> = readonly (Column<Row> | false)[];

/** A page of the console with a list, whose further pages are put below the first one. What it shows of all is in the address. */
export abstract class ListPage<Row extends object, More = object> extends PolledElement<Page<Row> & More> {
  pages = 1;
  /** Path of the page. */
  readonly path = router.location.path;
  abstract readonly heading: string;
  /** Of the table, if it is not that of the page. */
  readonly label: string = '';
  /** Of the API. */
  abstract readonly list: string;
  /** What there is in place of a list without items, and why. */
  abstract readonly none: readonly [title: string, advice: unknown];
  abstract columns(items: readonly Row[]): Columns<Row>;

  constructor() {
    super();
    this.whileConnected((signal) =>
      navigation.addEventListener('currententrychange', () => this.follow(), { signal }),
    );
  }

  /** What of the list the address asks for. */
  get query() {
    return new URLSearchParams();
  }

  /** Shows what the address asks for now. */
  follow() {
    if (router.location.path !== this.path) return;
    this.pages = 1;
    this.requestUpdate();
    void this.reload();
  }

  /**
   * Reads until there are as many items as were asked for: the API reads a part of many records at a time.
   * @returns undefined if something else is asked for by then
   */
  async read(): Promise<(Page<Row> & More) | undefined> {
    const { query } = this;
    const asked = `${router.location.query}`;
    const items: Row[] = [];
    for (;;) {
      const read: Page<Row> & More = await api.get(`${this.list}?${query}`);
      if (`${router.location.query}` !== asked) return undefined;
      items.push(...read.items);
      if (read.next === null || items.length >= this.pages * pageSize) return { ...read, items };
      query.set('after', read.next);
    }
  }

  more() {
    this.pages += 1;
    void this.reload();
  }

  /** What an operator can make here: a text, and what makes it. */
  get makes(): Parameters<typeof pageHead>[1] {
    return undefined;
  }

  about(): unknown {
    return nothing;
  }

  override render() {
    return html`${pageHead(this.heading, this.makes)} ${this.about()} ${super.render()}`;
  }

  view({ items, next }: Page<Row> & More): unknown {
    return html`${items.length === 0 ? emptyState(...this.none) : this.table(items)}
    ${next === null ? nothing : html`<button type="button" @click=${this.more}>Show more</button>`}`;
  }

  table(items: readonly Row[]): unknown {
    return listTable(this.label || this.heading, items, this.columns(items));
  }
}
