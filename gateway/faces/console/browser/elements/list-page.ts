import { html, nothing } from 'lit';
import { LightElement } from '../../../browser/elements/light-element.ts';
import { loadFailure, loading } from '../../../browser/elements/page-state.ts';
import { formatNumber, plural } from '../../../browser/format.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import type { Page } from '../responses.ts';
import { router } from '../router.ts';

const pageSize = 50;

/** A page of a list, how many records there are in all, and how many of them were read for it, if the API says so. */
type Found<Row> = Page<Row> & { total: number; read?: number };

/** A page of the console with a list of records, newest first. What is searched for, and from where on, is in the address. */
export abstract class ListPage<Row> extends LightElement {
  found: Found<Row> | undefined;
  /** Whether all of the page was read. */
  isComplete = false;
  failure: unknown;
  #request = new AbortController();

  /** Name of a record; with an s, that of the list in addresses. */
  abstract readonly noun: string;
  abstract list(items: readonly Row[]): unknown;
  /** What is shown if no record matches. @param total number of all records */
  abstract none(total: number): unknown;

  constructor() {
    super();
    this.whileConnected(() => {
      void this.load();
      return router.subscribe(({ path }) => {
        if (path === url`/console/${this.noun}s`) void this.load();
      });
    });
    this.whileConnected(() => () => this.#request.abort());
  }

  /** @returns the query of the API for that of the address */
  apiQuery(query: URLSearchParams): URLSearchParams {
    const wanted = new URLSearchParams();
    for (const name of ['search', 'plan', 'after']) {
      const value = query.get(name);
      if (value) wanted.set(name, value);
    }
    return wanted;
  }

  /** Reads one page. The API reads a part of many records at a time, so this goes on until the page is full. */
  async load() {
    this.#request.abort();
    const { signal } = (this.#request = new AbortController());
    this.failure = undefined;
    this.isComplete = false;
    const wanted = this.apiQuery(router.location.query);
    const items: Row[] = [];
    let read = 0;
    try {
      for (let next: string | null = ''; next !== null && items.length < pageSize;) {
        wanted.set('limit', String(pageSize - items.length));
        const part: Found<Row> = await api.get(`${url`/api/${this.noun}s`}?${wanted}`, signal);
        ({ next } = part);
        items.push(...part.items);
        read += part.read ?? 0;
        this.found = { ...part, items: [...items], read };
        if (next !== null) wanted.set('after', next);
      }
      this.isComplete = true;
    } catch (error) {
      if (!signal.aborted) this.failure = error;
    }
  }

  override render() {
    const { found, failure } = this;
    if (failure !== undefined) return loadFailure(failure, () => void this.load());
    if (found === undefined) return loading();
    const { items, next } = found;
    return html`<p class="quiet" role="status">${this.describe(found)}</p>
      ${items.length > 0 ? this.list(items) : this.isComplete ? this.none(found.total) : ''}
      ${this.isComplete ? pagingLinks(next) : ''}`;
  }

  describe({ items, next, read, total }: Found<Row>) {
    const all = plural(total, this.noun);
    if (!this.isComplete && read) return `Searching: ${formatNumber(read)} of ${all} read…`;
    const isFiltered = Array.from(router.location.query.keys()).some((name) => name !== 'after');
    if (!isFiltered) return `${all}, newest first`;
    return `${formatNumber(items.length)}${next === null ? '' : ' or more'} of ${all} match`;
  }
}

/** Links to the first and the next page of a list. @param next that of the API */
function pagingLinks(next: string | null) {
  const { path, query } = router.location;
  const isFirst = !query.has('after');
  if (isFirst && next === null) return nothing;
  const address = (after: string | null) => {
    const changed = new URLSearchParams(query);
    if (after === null) changed.delete('after');
    else changed.set('after', after);
    return changed.size === 0 ? path : `${path}?${changed}`;
  };
  return html`<nav class="actions paging" aria-label="Pages">
    ${isFirst ? nothing : html`<a href=${address(null)}>First page</a>`}
    ${next === null ? nothing : html`<a href=${address(next)}>Next page</a>`}
  </nav>`;
}
