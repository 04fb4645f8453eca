import '../elements/ban-scan.ts';
import '../elements/confirm-dialog.ts';
import '../elements/ban-key-form.ts';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { banTable } from '../elements/ban-table.ts';
import { showDialog } from '../elements/dialog-element.ts';
import { LightElement } from '../elements/light-element.ts';
import { notify } from '../elements/notice.ts';
import { emptyState, inlineFailure } from '../elements/page-state.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { plural } from '../format.ts';
import { Refresher } from '../refresher.ts';
import type { Ban, Changed, Page } from '../responses.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';

const pageSize = 100;

/** Active bans, soonest to expire first, and those that were set by hand if they are looked for. */
class PageBans extends LightElement {
  static override properties = {
    bans: { state: true },
    next: { state: true },
    pages: { state: true },
    chosen: { state: true },
  };

  bans: Ban[] | undefined;
  next: string | null = null;
  pages = 1;
  /** The ban that is to be lifted. */
  chosen: Ban | undefined;
  refresher = new Refresher(
    this,
    () => this.load(),
    () => 5000,
  );

  /** Reads all pages that are shown. */
  async load() {
    const bans: Ban[] = [];
    let next: string | null = null;
    for (let page = 0; page < this.pages; page += 1) {
      const after: string = next === null ? '' : url`&after=${next}`;
      const read = await api.get<Page<Ban>>(`/api/bans?limit=${pageSize}${after}`);
      bans.push(...read.items);
      next = read.next;
      if (next === null) break;
    }
    this.bans = bans;
    this.next = next;
  }

  more() {
    this.pages += 1;
    void this.refresher.now();
  }

  async askToLift(ban: Ban) {
    this.chosen = ban;
    await this.updateComplete;
    showDialog(this, 'confirm-dialog');
  }

  async lift({ id, name }: Ban) {
    const { warnings } = await api.delete<Changed>(url`/api/keys/${id}/ban`);
    notify(`The ban of ${name} was lifted. Its next request is served within a second.`, warnings);
    this.querySelector('ban-scan')?.dispatchEvent(new CustomEvent('lifted', { detail: id }));
    await this.refresher.now();
  }

  override render() {
    const { chosen } = this;
    const lift = session.isOperator ? (ban: Ban) => void this.askToLift(ban) : undefined;
    return html`<h1>Bans</h1>
      ${viewerNote()} ${this.list(lift)}
      <h2>Bans set by hand</h2>
      <ban-scan .lift=${lift}></ban-scan>
      <confirm-dialog
        heading=${`Lift the ban of ${chosen?.name ?? 'this key'}?`}
        action="Lift the ban"
        .message=${html`<p>Banned for: ${chosen?.reason}. Its requests are served again within a second, and what led to the ban is forgotten.</p>`}
        .run=${() => (chosen === undefined ? Promise.resolve() : this.lift(chosen))}
      ></confirm-dialog>
      ${
        session.isOperator
          ? html`<h2>Ban a key</h2>
              <ban-key-form @changed=${() => void this.refresher.now()}></ban-key-form>`
          : nothing
      }`;
  }

  list(lift: ((ban: Ban) => void) | undefined) {
    const { bans } = this;
    const { failure } = this.refresher;
    if (bans === undefined) return this.refresher.placeholder();
    if (bans.length === 0) {
      return html`${inlineFailure(failure)}
      ${emptyState(
        'No key is banned',
        html`A key is banned when it goes on after 429; <a href="/console/settings">Settings</a> say when.`,
      )}`;
    }
    return html`${inlineFailure(failure)}
      <p class="quiet">
        ${plural(bans.length, 'ban')}${this.next === null ? '' : ' of more'}, soonest to expire first.
      </p>
      ${banTable('Active bans', bans, lift)}
      ${this.next === null ? nothing : html`<button type="button" @click=${this.more}>Show more</button>`}`;
  }
}

customElements.define('page-bans', PageBans);
