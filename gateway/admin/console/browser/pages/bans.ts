import '../elements/ban-key-form.ts';
import { html, nothing } from 'lit';
import { emptyState } from '../../../../browser/elements/page-state.ts';
import { PolledElement } from '../../../../browser/elements/polled-element.ts';
import { plural } from '../../../../browser/format.ts';
import { url } from '../../../../browser/url.ts';
import { api } from '../api.ts';
import { banTable } from '../elements/ban-table.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import type { Ban, Page } from '../responses.ts';
import { session } from '../session.ts';

const pageSize = 100;

/** Active bans, soonest to expire first. */
class PageBans extends PolledElement<Page<Ban>> {
  pages = 1;

  /** Reads all pages that are shown. */
  async read() {
    const items: Ban[] = [];
    let next: string | null = null;
    for (let page = 0; page < this.pages; page += 1) {
      const after: string = next === null ? '' : url`&after=${next}`;
      const read: Page<Ban> = await api.get(`/api/bans?limit=${pageSize}${after}`);
      items.push(...read.items);
      ({ next } = read);
      if (next === null) break;
    }
    return { items, next };
  }

  more() {
    this.pages += 1;
    this.reload();
  }

  override render() {
    return html`<h1>Bans</h1>
      ${viewerNote()} ${super.render()}
      ${
        session.isOperator
          ? html`<h2>Ban a key</h2>
              <ban-key-form @changed=${this.reload}></ban-key-form>`
          : nothing
      }`;
  }

  view({ items, next }: Page<Ban>) {
    if (items.length === 0) {
      return emptyState(
        'No key is banned',
        html`A key is banned when it goes on after 429; <a href="/console/settings">Settings</a> say when.`,
      );
    }
    return html`<p class="quiet">
        ${plural(items.length, 'ban')}${next === null ? '' : ' of more'}, soonest to expire first.
      </p>
      ${banTable(this, 'Active bans', items, () => {
        this.reload();
      })}
      ${next === null ? nothing : html`<button type="button" @click=${this.more}>Show more</button>`}`;
  }
}

customElements.define('page-bans', PageBans);
