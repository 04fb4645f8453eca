import { api } from './api.ts';
import type { Page } from './responses.ts';

/** Reads the first pages of a list as one. @param path with a query */
export async function readPages<Item>(path: string, pages: number): Promise<Page<Item>> {
  const items: Item[] = [];
  let next: string | null = null;
  for (let page = 0; page < pages; page += 1) {
    const after: string = next === null ? '' : `&after=${encodeURIComponent(next)}`;
    const read: Page<Item> = await api.get(path + after);
    items.push(...read.items);
    ({ next } = read);
    if (next === null) break;
  }
  return { items, next };
}
