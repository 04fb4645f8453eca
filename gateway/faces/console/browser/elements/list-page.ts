import { html, nothing } from 'lit';
import type { Action } from '../../../browser/elements/menu.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { listTable, type Column } from '../../../browser/elements/table.ts';
import { readPages } from '../api.ts';
import type { Page } from '../responses.ts';
import { router } from '../router.ts';
import { head, viewerNote } from './page-head.ts';

const pageSize = 50;

export type Columns<Row> = readonly (Column<Row> | false)[];

/** A page of the console with a list, whose further pages are put below the first one. What it shows of all is in the address. */
export abstract class ListPage<Row extends object, More = object> extends PolledElement<Page<Row> & More> {
  pages = 1;
  /** Path of the page. */
  readonly path = router.location.path;
  /** Title of the page. */
  heading = '';
  /** Of the table, if it is not that of the page. */
  readonly label: string = '';
  /** Of the API, which calls it as the page. */
  readonly list: string = this.path.replace('/console', '/api');
  /** What there is in place of a list without items. */
  abstract readonly none: unknown;

  constructor() {
    super();
    this.whileConnected((signal) =>
      navigation.addEventListener('currententrychange', () => this.follow(), { signal }),
    );
  }

  /** Parameters of the address that choose items. The API has the same ones. */
  get parameters(): readonly string[] {
    return [];
  }

  /** What of the list the address asks for. */
  get query() {
    const given = [...router.location.query];
    return new URLSearchParams(given.filter(([name, value]) => value && this.parameters.includes(name)));
  }

  /** Shows what the address asks for now. */
  follow() {
    if (router.location.path !== this.path) return;
    this.pages = 1;
    this.requestUpdate();
    void this.reload();
  }

  /** @returns undefined if something else is asked for by then */
  read(): Promise<(Page<Row> & More) | undefined> {
    const asked = `${router.location.query}`;
    const isAsked = () => `${router.location.query}` === asked;
    return readPages<Page<Row> & More>(`${this.list}?${this.query}`, this.pages * pageSize, isAsked);
  }

  more() {
    this.pages += 1;
    void this.reload();
  }

  /** What an operator can do here. */
  actions(): Action[] {
    return [];
  }

  columns(_items: readonly Row[]): Columns<Row> {
    return [];
  }

  about(): unknown {
    return nothing;
  }

  override render() {
    return html`${head(html`<h1>${this.heading}</h1>`, ...this.actions())} ${viewerNote()} ${this.about()}
    ${super.render()}`;
  }

  view({ items, next }: Page<Row> & More): unknown {
    return html`${this.table(items)}
    ${next === null ? nothing : html`<button type="button" @click=${this.more}>Show more</button>`}`;
  }

  table(items: readonly Row[]): unknown {
    return listTable(this.label || this.heading, items, this.columns(items), { none: this.none });
  }
}
