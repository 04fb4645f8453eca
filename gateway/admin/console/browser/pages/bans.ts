import '../elements/ban-scan.ts';
import '../elements/confirm-dialog.ts';
import '../elements/ban-key-form.ts';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { banTable } from '../elements/ban-table.ts';
import { ConfirmDialog } from '../elements/confirm-dialog.ts';
import { LightElement } from '../elements/light-element.ts';
import { notify } from '../elements/notice.ts';
import { emptyState, inlineFailure, loadFailure, loading } from '../elements/page-state.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { plural } from '../format.ts';
import { Refresher } from '../refresher.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';

/** @typedef {import('../elements/ban-table.ts').Ban} Ban */

const pageSize = 100;

/** Active bans, soonest to expire first, and those that were set by hand if they are looked for. */
class PageBans extends LightElement {
  static properties = {
    bans: { state: true },
    next: { state: true },
    pages: { state: true },
    failure: { state: true },
    chosen: { state: true },
  };

  constructor() {
    super();
    /** @type {Ban[] | undefined} */
    this.bans = undefined;
    /** @type {string | null} */
    this.next = null;
    this.pages = 1;
    /** @type {unknown} */
    this.failure = undefined;
    /** The ban that is to be lifted. @type {Ban | undefined} */
    this.chosen = undefined;
    this.refresher = new Refresher(
      this,
      () => this.load(),
      () => 5000,
    );
  }

  /** Reads all pages that are shown. */
  async load() {
    try {
      /** @type {Ban[]} */
      const bans = [];
      /** @type {string | null} */
      let next = null;
      for (let page = 0; page < this.pages; page += 1) {
        const after = next === null ? '' : url`&after=${next}`;
        const read = await api.get(`/api/bans?limit=${pageSize}${after}`);
        bans.push(...read.items);
        next = read.next;
        if (next === null) break;
      }
      this.bans = bans;
      this.next = next;
      this.failure = undefined;
    } catch (error) {
      this.failure = error;
    }
  }

  more() {
    this.pages += 1;
    void this.refresher.now();
  }

  /** @param {Ban} ban */
  async askToLift(ban) {
    this.chosen = ban;
    await this.updateComplete;
    const dialog = this.querySelector('confirm-dialog');
    if (dialog instanceof ConfirmDialog) dialog.show();
  }

  /** @param {Ban} ban */
  async lift({ id, name }) {
    const { warnings } = await api.delete(url`/api/keys/${id}/ban`);
    notify(`The ban of ${name} was lifted. Its next request is served within a second.`, warnings);
    this.querySelector('ban-scan')?.dispatchEvent(new CustomEvent('lifted', { detail: id }));
    await this.refresher.now();
  }

  render() {
    const { chosen } = this;
    const lift = session.isOperator ? (/** @type {Ban} */ ban) => void this.askToLift(ban) : undefined;
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

  /** @param {((ban: Ban) => void) | undefined} lift */
  list(lift) {
    const { bans, failure } = this;
    if (bans === undefined) {
      return failure === undefined ? loading() : loadFailure(failure, () => void this.refresher.now());
    }
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
