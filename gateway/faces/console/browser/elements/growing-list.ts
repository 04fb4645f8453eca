import { html, nothing } from 'lit';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { api } from '../api.ts';
import type { Page } from '../responses.ts';

/** A list whose further pages are put below the first one. */
export abstract class GrowingList<Item> extends PolledElement<Page<Item>> {
  pages = 1;

  /** @param path with a query */
  async readPages(path: string): Promise<Page<Item>> {
    const items: Item[] = [];
    let next: string | null = null;
    for (let page = 0; page === 0 || (page < this.pages && next !== null); page += 1) {
      const after: string = next === null ? '' : `&after=${encodeURIComponent(next)}`;
      const read: Page<Item> = await api.get(path + after);
      items.push(...read.items);
      ({ next } = read);
    }
    return { items, next };
  }

  more() {
    this.pages += 1;
    void this.reload();
  }

  moreButton(next: string | null) {
    return next === null ? nothing : html`<button type="button" @click=${this.more}>Show more</button>`;
  }
}
