import { html, nothing } from 'lit';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { api } from '../api.ts';
import type { Page } from '../responses.ts';
import { router } from '../router.ts';

const pageSize = 50;

/** A list whose further pages are put below the first one. What it shows of all is in the address. */
export abstract class GrowingList<Item, More = object> extends PolledElement<Page<Item> & More> {
  pages = 1;

  /**
   * Reads until there are as many items as were asked for: the API reads a part of many records at a time.
   * @param path with a query
   * @returns undefined if something else is asked for by then
   */
  async readPages(path: string): Promise<(Page<Item> & More) | undefined> {
    const asked = `${router.location.query}`;
    const items: Item[] = [];
    for (let after = ''; ;) {
      const read: Page<Item> & More = await api.get(path + after);
      if (`${router.location.query}` !== asked) return undefined;
      items.push(...read.items);
      if (read.next === null || items.length >= this.pages * pageSize) return { ...read, items };
      after = `&after=${encodeURIComponent(read.next)}`;
    }
  }

  more() {
    this.pages += 1;
    void this.reload();
  }

  moreButton(next: string | null) {
    return next === null ? nothing : html`<button type="button" @click=${this.more}>Show more</button>`;
  }
}
